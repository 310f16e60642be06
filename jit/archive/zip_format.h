// What the parts of the zip reader share: numbers as the format stores them, and the marks that its structures begin
// with. Format: PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::zip {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr size_t kLocalHeaderSize = 30;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

// Little-endian numbers at places that the caller has checked to be inside.
template <typename T>
T Number(std::string_view bytes, uint64_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i));
  }
  return value;
}

inline bool Fits(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

inline std::string Quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace hearth::zip
