#include "jit/archive/saved_value.h"

#include <caffe2/serialize/inline_container.h>

#include <utility>

#include "jit/archive/byte_order.h"
#include "jit/archive/container_types.h"
#include "jit/archive/mapping.h"
#include "jit/archive/pickle.h"
#include "jit/archive/pickle_writer.h"
#include "jit/archive/storage_table.h"
#include "jit/archive/zip_reader.h"
#include "jit/support/new_file.h"

namespace hearth {
namespace {

constexpr char kPickle[] = "data.pkl";

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
