// How an ArgumentSpec's words are laid out; for the files that write and read them.
#pragma once

#include <ATen/core/jit_type_base.h>
#include <c10/core/DeviceType.h>

#include <cstdint>

namespace hearth::argument_words {

// A word starts with the kind in its low byte; what the other fields are is up to the kind.
//   tensor   dtype, device type, device index, rank (a byte each), then 4 bits each of layout class, layout, suggested
//            format, then the flags; a word of size classes follows, and one of keys where the flags say so
//   list     kind of the elements, flag "elements follow", length in the high half (kLong: not told)
//   tuple    length in the high half
//   dict     kind of the values, length in the high half; a key word and what belongs to it, then the value's code
//   object, enum   a word with the class's address follows
// Keys use kinds of their own.
enum KeyKind : uint8_t { kStringKey = 128, kIntKey, kFloatKey, kBoolKey };

inline constexpr unsigned kDtypeShift = 8, kDeviceTypeShift = 16, kDeviceIndexShift = 24, kRankShift = 32;
inline constexpr unsigned kLayoutClassShift = 40, kLayoutShift = 44, kFormatShift = 48;
inline constexpr uint64_t kRequiresGrad = uint64_t{1} << 52, kInference = uint64_t{1} << 53;
inline constexpr uint64_t kWrappedNumber = uint64_t{1} << 54, kHasKeys = uint64_t{1} << 55;
inline constexpr uint64_t kNoRank = 0xff;

inline constexpr unsigned kContainedShift = 8, kLengthShift = 32;
inline constexpr uint64_t kElementsFollow = uint64_t{1} << 16;
inline constexpr uint64_t kLong = 0xffffffff;

constexpr uint64_t Byte(uint64_t word, unsigned shift) { return word >> shift & 0xff; }
constexpr uint64_t HalfByte(uint64_t word, unsigned shift) { return word >> shift & 0xf; }

// The hash of words and one more: the folded product of wyhash.
constexpr uint64_t AddToHash(uint64_t hash, uint64_t word) {
  const auto product = static_cast<unsigned __int128>(hash ^ word) * 0x9e3779b97f4a7c15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ 0xd6e8feb86659fd93u;
}

// Whether there is such a device, as far as a c10::Device may say so.
inline bool IsDevice(uint64_t type, int8_t index) {
  return c10::isValidDeviceType(static_cast<c10::DeviceType>(type)) && index >= -1 &&
         (static_cast<c10::DeviceType>(type) != c10::DeviceType::CPU || index <= 0);
}

// Whether a list of such elements is told by its length alone.
constexpr bool IsScalar(c10::TypeKind kind) {
  using c10::TypeKind;
  return kind == TypeKind::IntType || kind == TypeKind::FloatType || kind == TypeKind::BoolType ||
         kind == TypeKind::StringType || kind == TypeKind::ComplexType;
}

}  // namespace hearth::argument_words
