#include "jit/fuser/image/kernel_image.h"

#include <bit>
#include <cstring>

namespace hearth::fuser {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'h', 'e', 'a', 'r', 't', 'h', 'K', 'I'};
constexpr uint32_t kVersion = 4;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t num_loops;
  uint64_t kernel_hash;
  uint32_t target_bytes;
  uint32_t block_bytes;
  uint32_t sizes_entry;
  uint32_t num_device_loops;
  uint32_t device_code_bytes;
  uint32_t reserved;
};
static_assert(sizeof(Header) == 48);

struct StoredDeviceLoop {
  uint32_t threads;
  uint32_t threads_per_round;
  uint32_t rounds_per_thread;
  uint32_t alignment;
  uint32_t has_locals_in_registers;
};
static_assert(sizeof(StoredDeviceLoop) == 20);

void Append(std::string& out, const void* data, size_t size) { out.append(static_cast<const char*>(data), size); }

// Takes the bytes of a string from the front.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(size_t size) {
    if (rest_.size() < size) throw ImageError("kernel image: cut off");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  template <class T>
  T Take() {
    T value;
    std::memcpy(&value, Take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

DeviceLoop ReadDeviceLoop(Reader* reader) {
  const auto stored = reader->Take<StoredDeviceLoop>();
  if (stored.threads == 0 || stored.threads > kMaxThreadsPerBlock || stored.threads % kThreadsPerWarp != 0) {
    throw ImageError("kernel image: a block has " + std::to_string(stored.threads) + " threads");
  }
  const bool is_of_thread = stored.threads_per_round == 1;
  if (!is_of_thread && stored.threads_per_round != kThreadsPerWarp && stored.threads_per_round != stored.threads) {
    throw ImageError("kernel image: a round of a device loop has " + std::to_string(stored.threads_per_round) +
                     " threads of a block's " + std::to_string(stored.threads));
  }
  if (stored.rounds_per_thread == 0 || (!is_of_thread && stored.rounds_per_thread != 1)) {
    throw ImageError("kernel image: a thread of a device loop has " + std::to_string(stored.rounds_per_thread) +
                     " rounds");
  }
  if (stored.has_locals_in_registers > (is_of_thread ? 0u : 1u)) {
    throw ImageError("kernel image: a device loop has local buffers in registers: " +
                     std::to_string(stored.has_locals_in_registers));
  }
  if (!std::has_single_bit(stored.alignment) || stored.alignment > kBlockAlignment) {
    throw ImageError("kernel image: a device loop needs memory aligned to " + std::to_string(stored.alignment) +
                     " bytes");
  }
  return {.threads = stored.threads,
          .threads_per_round = stored.threads_per_round,
          .rounds_per_thread = stored.rounds_per_thread,
          .alignment = stored.alignment,
          .has_locals_in_registers = stored.has_locals_in_registers == 1};
}

void CheckEntry(uint32_t entry, const KernelImage& image) {
  if (entry >= image.block.size()) throw ImageError("kernel image: an entry is outside of the block");
}

}  // namespace

uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string SerializeKernelImage(const KernelImage& image) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.num_loops = static_cast<uint32_t>(image.loop_entries.size());
  header.kernel_hash = image.kernel_hash;
  header.target_bytes = static_cast<uint32_t>(image.target.size());
  header.block_bytes = static_cast<uint32_t>(image.block.size());
  header.sizes_entry = image.sizes_entry;
  header.num_device_loops = static_cast<uint32_t>(image.device_loops.size());
  header.device_code_bytes = static_cast<uint32_t>(image.device_code.size());
  std::string out;
  Append(out, &header, sizeof(header));
  Append(out, image.loop_entries.data(), image.loop_entries.size() * sizeof(uint32_t));
  for (const DeviceLoop& loop : image.device_loops) {
    const StoredDeviceLoop stored{.threads = loop.threads,
                                  .threads_per_round = loop.threads_per_round,
                                  .rounds_per_thread = loop.rounds_per_thread,
                                  .alignment = loop.alignment,
                                  .has_locals_in_registers = loop.has_locals_in_registers ? 1u : 0u};
    Append(out, &stored, sizeof(stored));
  }
  out += image.target;
  out += image.block;
  out += image.device_code;
  const uint64_t checksum = HashOf(out);
  Append(out, &checksum, sizeof(checksum));
  return out;
}

KernelImage ParseKernelImage(std::string_view bytes) {
  Reader reader(bytes);
  const auto header = reader.Take<Header>();
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) throw ImageError("kernel image: not one");
  if (header.version != kVersion) throw ImageError("kernel image: of another version");
  if (header.num_loops > kMaxTopLoops || header.target_bytes > kMaxTargetBytes || header.block_bytes > kMaxBlockBytes ||
      header.num_device_loops > kMaxTopLoops || header.device_code_bytes > kMaxBlockBytes || header.reserved != 0) {
    throw ImageError("kernel image: a number in the header is too large");
  }
  if ((header.device_code_bytes != 0 && header.num_loops != 0) ||
      (header.device_code_bytes == 0 && header.num_device_loops != 0)) {
    throw ImageError("kernel image: loops for a CPU and for a device");
  }
  KernelImage image;
  image.kernel_hash = header.kernel_hash;
  image.sizes_entry = header.sizes_entry;
  const std::string_view entries = reader.Take(header.num_loops * sizeof(uint32_t));
  image.loop_entries.resize(header.num_loops);
  if (!entries.empty()) std::memcpy(image.loop_entries.data(), entries.data(), entries.size());
  for (uint32_t i = 0; i < header.num_device_loops; ++i) image.device_loops.push_back(ReadDeviceLoop(&reader));
  image.target = reader.Take(header.target_bytes);
  image.block = reader.Take(header.block_bytes);
  image.device_code = reader.Take(header.device_code_bytes);
  const auto checksum = reader.Take<uint64_t>();
  if (!reader.empty()) throw ImageError("kernel image: bytes after its end");
  if (checksum != HashOf(bytes.substr(0, bytes.size() - sizeof(checksum)))) {
    throw ImageError("kernel image: the checksum does not fit");
  }
  CheckEntry(image.sizes_entry, image);
  for (const uint32_t entry : image.loop_entries) CheckEntry(entry, image);
  return image;
}

}  // namespace hearth::fuser
