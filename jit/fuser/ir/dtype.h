// The types of the scalars in a kernel, and of the elements of its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth::fuser {

enum class Dtype : uint8_t {
  kBool,  // in memory a byte, 0 or 1
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};
inline constexpr size_t kNumDtypes = 10;

// "b1", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64".
std::string_view NameOf(Dtype dtype);
std::optional<Dtype> DtypeOfName(std::string_view name);

size_t BytesOf(Dtype dtype);

constexpr bool IsFloating(Dtype dtype) { return dtype >= Dtype::kFloat16; }
// Kept in memory only: nothing is computed in it.
constexpr bool IsReduced(Dtype dtype) { return dtype == Dtype::kFloat16 || dtype == Dtype::kBFloat16; }
constexpr bool IsInteger(Dtype dtype) { return dtype >= Dtype::kUint8 && dtype <= Dtype::kInt64; }

}  // namespace hearth::fuser
