// Feeds any bytes to the reader of object storage's listings. Whatever is accepted must lie in the folder it is put
// into.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "server/storage/listing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto lies_within = [](const std::string& path) {
    const std::filesystem::path folder = "/mirror/model";
    return (folder / path).lexically_normal().lexically_relative(folder).generic_string() == path;
  };
  if (const auto listing = hearth::server::ReadListing(json); listing.ok()) {
    for (const auto& [path, file] : *listing) {
      if (!lies_within(path) || file.size < 0) std::abort();
    }
  }
  if (const auto folders = hearth::server::ReadFolders(json); folders.ok()) {
    for (const std::string& path : *folders) {
      if (!lies_within(path)) std::abort();
    }
  }
  return 0;
}
