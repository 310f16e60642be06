#include "jit/fuser/image/kernel_file.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace hearth::fuser {
namespace {

static_assert(std::endian::native == std::endian::little);

struct FileHeader {
  char magic[8];
  uint32_t format;
  uint32_t has_image;
};
static_assert(sizeof(FileHeader) == 16);

constexpr std::string_view kFileMagic = "HEARTHKF";
constexpr uint32_t kFileFormat = 1;

void AppendPart(std::string& out, std::string_view part) {
  const auto size = static_cast<uint32_t>(part.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out += part;
}

std::string_view TakePart(std::string_view& rest) {
  uint32_t size = 0;
  if (rest.size() < sizeof(size)) throw ImageError("kernel file: cut off");
  std::memcpy(&size, rest.data(), sizeof(size));
  rest.remove_prefix(sizeof(size));
  if (rest.size() < size) throw ImageError("kernel file: cut off");
  const std::string_view part = rest.substr(0, size);
  rest.remove_prefix(size);
  return part;
}

}  // namespace

std::string SerializeKernelFile(const KernelFile& file) {
  FileHeader header{};
  std::memcpy(header.magic, kFileMagic.data(), sizeof(header.magic));
  header.format = kFileFormat;
  header.has_image = file.image ? 1 : 0;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  AppendPart(out, file.key);
  AppendPart(out, file.text);
  AppendPart(out, file.image ? SerializeKernelImage(*file.image) : file.reason);
  const uint64_t checksum = HashOf(out);
  out.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  return out;
}

KernelFile ParseKernelFile(std::string_view bytes) {
  FileHeader header{};
  uint64_t checksum = 0;
  if (bytes.size() < sizeof(header) + sizeof(checksum)) throw ImageError("kernel file: cut off");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::string_view(header.magic, sizeof(header.magic)) != kFileMagic) throw ImageError("kernel file: not one");
  if (header.format != kFileFormat) throw ImageError("kernel file: of another format");
  if (header.has_image > 1) throw ImageError("kernel file: neither with an image nor without");
  std::string_view rest = bytes.substr(0, bytes.size() - sizeof(checksum));
  std::memcpy(&checksum, bytes.data() + rest.size(), sizeof(checksum));
  if (checksum != HashOf(rest)) throw ImageError("kernel file: the checksum does not fit");
  rest.remove_prefix(sizeof(header));
  KernelFile file;
  file.key = TakePart(rest);
  file.text = TakePart(rest);
  const std::string_view content = TakePart(rest);
  if (!rest.empty()) throw ImageError("kernel file: bytes after its end");
  if (header.has_image == 0) {
    file.reason = content;
    return file;
  }
  file.image = ParseKernelImage(content);
  if (file.image->kernel_hash != HashOf(file.text)) throw ImageError("kernel file: the image is of another kernel");
  return file;
}

}  // namespace hearth::fuser
