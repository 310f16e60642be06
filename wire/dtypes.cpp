#include "wire/dtypes.h"

#include <array>
#include <utility>

namespace hearth {
namespace {

using c10::ScalarType;

constexpr std::array<std::pair<std::string_view, ScalarType>, 21> kDtypes = {{
    {"float32", ScalarType::Float},
    {"int64", ScalarType::Long},
    {"float16", ScalarType::Half},
    {"bfloat16", ScalarType::BFloat16},
    {"float64", ScalarType::Double},
    {"bool", ScalarType::Bool},
    {"uint8", ScalarType::Byte},
    {"int8", ScalarType::Char},
    {"int16", ScalarType::Short},
    {"int32", ScalarType::Int},
    {"uint16", ScalarType::UInt16},
    {"uint32", ScalarType::UInt32},
    {"uint64", ScalarType::UInt64},
    {"complex32", ScalarType::ComplexHalf},
    {"complex64", ScalarType::ComplexFloat},
    {"complex128", ScalarType::ComplexDouble},
    {"float8_e5m2", ScalarType::Float8_e5m2},
    {"float8_e4m3fn", ScalarType::Float8_e4m3fn},
    {"float8_e5m2fnuz", ScalarType::Float8_e5m2fnuz},
    {"float8_e4m3fnuz", ScalarType::Float8_e4m3fnuz},
    {"float8_e8m0fnu", ScalarType::Float8_e8m0fnu},
}};

}  // namespace

std::optional<ScalarType> DtypeOfName(std::string_view name) {
  for (const auto& [known, dtype] : kDtypes) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

std::string NameOfDtype(ScalarType dtype) {
  for (const auto& [name, known] : kDtypes) {
    if (known == dtype) return std::string(name);
  }
  return "";
}

}  // namespace hearth
