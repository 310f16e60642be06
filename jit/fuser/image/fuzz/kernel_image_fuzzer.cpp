// Feeds any bytes to the readers of kernel images and of the files that keep them, as they are, with the checksum
// mended, so that the checks after it are reached, and as the image of a file. What is read is written again and must
// be the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "jit/fuser/image/kernel_file.h"
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

void ReadAndWriteFile(std::string_view bytes) {
  try {
    const hearth::fuser::KernelFile file = hearth::fuser::ParseKernelFile(bytes);
    if (hearth::fuser::SerializeKernelFile(file) != bytes) std::abort();
  } catch (const hearth::fuser::ImageError&) {
  }
}

template <typename Number>
void Append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// A file without a key and text, whose image the bytes are.
std::string FileWith(const std::string& image) {
  std::string file = "HEARTHKF";
  Append(file, uint32_t{1});
  Append(file, uint32_t{1});
  Append(file, uint32_t{0});
  Append(file, uint32_t{0});
  Append(file, static_cast<uint32_t>(image.size()));
  file += image;
  Append(file, hearth::fuser::HashOf(file));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ReadAndWrite(bytes);
  ReadAndWriteFile(bytes);
  if (size >= sizeof(uint64_t)) {
    const size_t content = size - sizeof(uint64_t);
    const uint64_t checksum = hearth::fuser::HashOf(std::string_view(bytes).substr(0, content));
    std::memcpy(bytes.data() + content, &checksum, sizeof(checksum));
    ReadAndWrite(bytes);
    ReadAndWriteFile(bytes);
    ReadAndWriteFile(FileWith(bytes));
  }
  return 0;
}
