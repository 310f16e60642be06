#include "jit/archive/crc32.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hearth {
namespace {

uint32_t ZlibCrc32(const unsigned char* data, size_t size, uint32_t crc) {
  while (size > 0) {
    const size_t piece = std::min<size_t>(size, size_t{1} << 30);
    crc = static_cast<uint32_t>(crc32(crc, data, static_cast<uInt>(piece)));
    data += piece;
    size -= piece;
  }
  return crc;
}

#if defined(__x86_64__)

constexpr size_t kFoldedBytes = 64;

// `accumulator` moved forward by the distance that `constants` stand for, plus the 16 bytes found there.
__attribute__((target("pclmul,sse4.1"))) inline __m128i Fold(__m128i accumulator, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(accumulator, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(accumulator, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i Load(const unsigned char* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// Needs size >= kFoldedBytes. Everything is folded into 16 bytes that have the whole message's remainder; zlib's table
// finishes those and the tail.
__attribute__((target("pclmul,sse4.1"))) uint32_t FoldingCrc32(const unsigned char* data, size_t size, uint32_t crc) {
  const __m128i by_64_bytes = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by_16_bytes = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i a = _mm_xor_si128(Load(data), _mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m128i b = Load(data + 16);
  __m128i c = Load(data + 32);
  __m128i d = Load(data + 48);
  data += kFoldedBytes;
  size -= kFoldedBytes;
  for (; size >= kFoldedBytes; data += kFoldedBytes, size -= kFoldedBytes) {
    a = Fold(a, by_64_bytes, Load(data));
    b = Fold(b, by_64_bytes, Load(data + 16));
    c = Fold(c, by_64_bytes, Load(data + 32));
    d = Fold(d, by_64_bytes, Load(data + 48));
  }
  a = Fold(a, by_16_bytes, b);
  a = Fold(a, by_16_bytes, c);
  a = Fold(a, by_16_bytes, d);
  for (; size >= 16; data += 16, size -= 16) a = Fold(a, by_16_bytes, Load(data));
  unsigned char remainder[16];
  std::memcpy(remainder, &a, sizeof(remainder));
  // zlib inverts before and after, so starting from all ones is starting from a remainder of zero.
  return ZlibCrc32(data, size, ZlibCrc32(remainder, sizeof(remainder), 0xFFFFFFFFu));
}

bool CanFold() {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can;
}

#endif

}  // namespace

uint32_t Crc32(std::string_view bytes, uint32_t crc) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
#if defined(__x86_64__)
  if (bytes.size() >= kFoldedBytes && CanFold()) return FoldingCrc32(data, bytes.size(), crc);
#endif
  return ZlibCrc32(data, bytes.size(), crc);
}

}  // namespace hearth
