// Feeds any bytes to the reader of object storage's listings. Whatever is accepted must lie in the folder it is put
// into.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "server/storage/listing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto listing = hearth::server::ReadListing({reinterpret_cast<const char*>(data), size});
  if (!listing.ok()) return 0;
  const std::filesystem::path folder = "/mirror/model";
  for (const auto& [path, file] : *listing) {
    const auto placed = (folder / path).lexically_normal().lexically_relative(folder).generic_string();
    if (placed != path || file.size < 0) std::abort();
  }
  return 0;
}
