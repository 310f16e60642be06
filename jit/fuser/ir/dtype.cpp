#include "jit/fuser/ir/dtype.h"

#include <array>

namespace hearth::fuser {
namespace {

struct DtypeInfo {
  std::string_view name;
  size_t bytes;
};

constexpr std::array<DtypeInfo, kNumDtypes> kDtypes = {{
    {"b1", 1},
    {"u8", 1},
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"f16", 2},
    {"bf16", 2},
    {"f32", 4},
    {"f64", 8},
}};

}  // namespace

std::string_view NameOf(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }

std::optional<Dtype> DtypeOfName(std::string_view name) {
  for (size_t i = 0; i < kNumDtypes; ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

size_t BytesOf(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].bytes; }

}  // namespace hearth::fuser
