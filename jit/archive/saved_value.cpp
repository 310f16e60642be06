#include "jit/archive/saved_value.h"

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "jit/archive/byte_order.h"
#include "jit/archive/container_types.h"
#include "jit/archive/mapping.h"
#include "jit/archive/pickle.h"
#include "jit/archive/pickle_writer.h"
#include "jit/archive/storage_table.h"
#include "jit/archive/zip_reader.h"

namespace hearth {
namespace {

constexpr char kPickle[] = "data.pkl";

[[noreturn]] void FailToWrite(const std::string& path, int error_number) {
  throw FileError(path + ": cannot be written: " + std::generic_category().message(error_number), error_number);
}

// A file that takes its name only when it is whole, and is gone otherwise. What is no regular file (a device, a pipe)
// is written where it is.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    struct stat status;
    const bool in_place = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    if (in_place) {
      fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
      static std::atomic<int> count{0};
      temporary_ = path + ".new-" + std::to_string(getpid()) + "-" + std::to_string(count.fetch_add(1));
      fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd_ < 0) {
      temporary_.clear();
      FailToWrite(path, errno);
    }
  }
  ~NewFile() {
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Append(const char* data, size_t size) {
    while (size > 0) {
      const ssize_t written = write(fd_, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) FailToWrite(path_, errno);
      data += written;
      size -= static_cast<size_t>(written);
    }
  }

  void Finish() {
    const int closed = close(fd_);
    fd_ = -1;
    if (closed != 0) FailToWrite(path_, errno);
    if (temporary_.empty()) return;
    if (rename(temporary_.c_str(), path_.c_str()) != 0) FailToWrite(path_, errno);
    temporary_.clear();
  }

 private:
  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace

c10::IValue ReadSavedFile(const std::string& path) {
  return ReadSavedMapping(Mapping::Open(path, Mapping::Mode::kPrivateCopy));
}

c10::IValue ReadSavedMapping(std::shared_ptr<const Mapping> file) {
  const std::string path = file->name();
  const ZipReader zip(std::move(file));
  if (zip.Find("constants.pkl")) {
    throw ArchiveError(path + ": is a TorchScript archive, not a value that torch.save wrote");
  }
  if (!zip.Find(kPickle)) throw ArchiveError(path + ": is no file that torch.save wrote: it has no record 'data.pkl'");
  StorageTable storages([&zip](const std::string& key) { return zip.Read("data/" + key); }, c10::Device(c10::kCPU),
                        IsBigEndian(zip), /*resizable=*/true);
  PlainPickleDelegate delegate;
  PickleOptions options;
  options.file = path;
  options.record = kPickle;
  options.dialect = PickleDialect::kTorchSave;
  const RecordBytes pickle = zip.Read(kPickle);
  c10::IValue value = ReadPickle(pickle.view(), storages, delegate, options);
  InferContainerTypes(value);
  return value;
}

void WriteSavedFile(const c10::IValue& value, const std::string& path) {
  PickleWriter pickle;
  pickle.Write(value);
  NewFile file(path);
  try {
    caffe2::serialize::PyTorchStreamWriter writer([&file](const void* data, size_t size) {
      file.Append(static_cast<const char*>(data), size);
      return size;
    });
    writer.writeRecord(kPickle, pickle.bytes().data(), pickle.bytes().size());
    writer.writeRecord("byteorder", "little", 6);
    for (size_t i = 0; i < pickle.storages().size(); ++i) {
      const c10::Storage& storage = pickle.storages()[i];
      writer.writeRecord("data/" + std::to_string(i), storage.data(), storage.nbytes());
    }
    writer.writeEndOfFile();
  } catch (const c10::Error& error) {
    throw ArchiveError(path + ": " + error.what_without_backtrace());
  }
  file.Finish();
}

}  // namespace hearth
