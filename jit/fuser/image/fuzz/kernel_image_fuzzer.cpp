// Feeds any bytes to the reader of kernel images, as they are and with the checksum mended, so that the checks after it
// are reached. What is read is written again and must be the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "jit/fuser/image/kernel_image.h"

namespace {

void ReadAndWrite(std::string_view bytes) {
  try {
    const hearth::fuser::KernelImage image = hearth::fuser::ParseKernelImage(bytes);
    if (hearth::fuser::SerializeKernelImage(image) != bytes) std::abort();
  } catch (const hearth::fuser::ImageError&) {
    // What a bad image is meant to give.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ReadAndWrite(bytes);
  if (size >= sizeof(uint64_t)) {
    const size_t content = size - sizeof(uint64_t);
    const uint64_t checksum = hearth::fuser::HashOf(std::string_view(bytes).substr(0, content));
    std::memcpy(bytes.data() + content, &checksum, sizeof(checksum));
    ReadAndWrite(bytes);
  }
  return 0;
}
