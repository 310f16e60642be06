#include "jit/fuser/runtime/kernel_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "jit/support/file_error.h"
#include "jit/support/kept_files.h"
#include "jit/support/logging.h"
#include "jit/support/new_file.h"

namespace hearth::fuser {
namespace {

namespace fs = std::filesystem;

constexpr char kKernelExtension[] = ".kernel";
constexpr char kReproducerExtension[] = ".loops";
// The folder is looked through again once so much of what it may hold was written.
constexpr uint64_t kPartUnseen = 16;
constexpr size_t kMostReasonBytes = 4096;
constexpr mode_t kOwnersAlone = 0600;

spdlog::logger& StoreLog() {
  static spdlog::logger& log = LoggerOf("fuser/kernel_store");
  return log;
}

std::string Name(std::string_view text) {
  char name[17];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(HashOf(text)));
  return name;
}

class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

std::string ReadWhole(int fd, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw ImageError("it cannot be read");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

// Throws ImageError unless code in it may be run.
size_t SizeIfTrusted(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) throw ImageError("it is no regular file");
  if (status.st_uid != geteuid()) throw ImageError("it belongs to another user");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) throw ImageError("others may write it");
  if (static_cast<uint64_t>(status.st_size) > kMaxKernelFileBytes) throw ImageError("it is too large");
  return static_cast<size_t>(status.st_size);
}

std::string AsComment(std::string_view reason) {
  std::string comment = "// ";
  for (const char c : reason.substr(0, kMostReasonBytes)) {
    comment += c;
    if (c == '\n') comment += "// ";
  }
  return comment + "\n";
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  try {
    NewFile file(path.string(), kOwnersAlone);
    file.Append(bytes.data(), bytes.size());
    file.Finish();
  } catch (const FileError& failure) {
    StoreLog().warn("{}", failure.what());
  }
}

}  // namespace

KernelStore::KernelStore(fs::path folder, std::string origin, Limits limits)
    : folder_(std::move(folder)), origin_(std::move(origin)), limits_(limits) {}

fs::path KernelStore::PathOf(std::string_view text) const {
  return folder_ / "kernels" / (Name(text) + "-" + Name(origin_) + kKernelExtension);
}

fs::path KernelStore::ReproducerOf(std::string_view text) const {
  return folder_ / "reproducers" / (Name(text) + kReproducerExtension);
}

std::optional<KernelFile> KernelStore::Read(const std::string& text) {
  const fs::path path = PathOf(text);
  const OpenFile file(path);
  if (file.get() < 0) {
    if (errno != ENOENT) StoreLog().debug("{} is ignored: {}", path.string(), std::generic_category().message(errno));
    return std::nullopt;
  }
  try {
    KernelFile kernel = ParseKernelFile(ReadWhole(file.get(), SizeIfTrusted(file.get())));
    if (kernel.key != origin_ || kernel.text != text) throw ImageError("it is of another kernel");
    // Its time says when it was used last.
    futimens(file.get(), nullptr);
    return kernel;
  } catch (const ImageError& error) {
    StoreLog().debug("{} is ignored: {}", path.string(), error.what());
    return std::nullopt;
  }
}

void KernelStore::Write(const std::string& text, KernelImage image) {
  Write({.key = origin_, .text = text, .image = std::move(image), .reason = ""});
}

void KernelStore::WriteReason(const std::string& text, const std::string& reason) {
  Write({.key = origin_, .text = text, .image = std::nullopt, .reason = reason.substr(0, kMostReasonBytes)});
  WriteReproducer(text, reason);
}

void KernelStore::Write(const KernelFile& file) {
  const std::string bytes = SerializeKernelFile(file);
  WriteFile(PathOf(file.text), bytes);
  if (unseen_bytes_.fetch_add(bytes.size()) + bytes.size() > limits_.bytes / kPartUnseen) MakeRoom();
}

void KernelStore::WriteReproducer(const std::string& text, const std::string& reason) {
  const fs::path path = ReproducerOf(text);
  std::error_code error;
  const auto files = std::distance(fs::directory_iterator(path.parent_path(), error), fs::directory_iterator());
  if (static_cast<size_t>(files) >= limits_.reproducers && !fs::exists(path, error)) return;
  WriteFile(path, AsComment(reason) + AsComment(origin_) + text);
  StoreLog().warn("hearth-opt --run-kernel {} shows what is wrong with a kernel", path.string());
}

void KernelStore::MakeRoom() {
  unseen_bytes_ = 0;
  KeepNewest(folder_ / "kernels", kKernelExtension, limits_.bytes);
}

}  // namespace hearth::fuser
