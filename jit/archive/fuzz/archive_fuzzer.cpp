// Feeds any bytes to the importer as an archive, and to the reader of saved values. In the fuzzer's own mutations the
// checksums are put right, so that it gets past them.
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "jit/archive/crc32.h"
#include "jit/archive/importer.h"
#include "jit/archive/mapping.h"
#include "jit/archive/saved_value.h"
#include "jit/support/errors.h"

namespace {

constexpr size_t kEntrySize = 46;

uint32_t Number(const uint8_t* at, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= static_cast<uint32_t>(at[i]) << (8 * i);
  return value;
}

std::string Inflated(const uint8_t* data, size_t size) {
  std::string out(1 << 16, '\0');
  z_stream stream = {};
  inflateInit2(&stream, -MAX_WBITS);
  stream.next_in = const_cast<uint8_t*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

// Writes the true checksum and inflated size into each entry of the directory that points at a record.
void PutChecksumsRight(uint8_t* data, size_t size) {
  for (size_t at = 0; at + kEntrySize <= size; ++at) {
    if (std::memcmp(data + at, "PK\1\2", 4) != 0) continue;
    const size_t header = Number(data + at + 42, 4);
    const size_t stored = Number(data + at + 20, 4);
    if (header > size || size - header < 30) continue;
    const size_t begin = header + 30 + Number(data + header + 26, 2) + Number(data + header + 28, 2);
    if (begin > size || size - begin < stored) continue;
    std::string contents(reinterpret_cast<const char*>(data) + begin, stored);
    if (Number(data + at + 10, 2) == 8) contents = Inflated(data + begin, stored);
    const uint32_t values[] = {hearth::Crc32(contents), static_cast<uint32_t>(contents.size())};
    const size_t places[] = {at + 16, at + 24};
    for (int i = 0; i < 2; ++i) {
      for (int byte = 0; byte < 4; ++byte) data[places[i] + byte] = static_cast<uint8_t>(values[i] >> (8 * byte));
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) __attribute__((weak));

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int) {
  size = LLVMFuzzerMutate(data, size, max_size);
  PutChecksumsRight(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto mapping = hearth::Mapping::Copy({reinterpret_cast<const char*>(data), size}, "fuzz");
  try {
    hearth::ReadSavedMapping(mapping);
  } catch (const hearth::ArchiveError&) {
    // What a bad file is meant to give.
  }
  try {
    hearth::ImportOptions options;
    options.run = [](hearth::CompilationUnit&, hearth::Function&, std::vector<c10::IValue>) { return c10::IValue(); };
    hearth::ImportModule(mapping, options);
  } catch (const hearth::ArchiveError&) {
  } catch (const hearth::CompileError&) {
  }
  return 0;
}
