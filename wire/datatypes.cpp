#include "wire/datatypes.h"

namespace hearth {
namespace {

// What is asked for most comes first.
constexpr Datatype kDatatypes[] = {
    {"FP32", inference::TYPE_FP32, c10::ScalarType::Float, 4},
    {"INT64", inference::TYPE_INT64, c10::ScalarType::Long, 8},
    {"BYTES", inference::TYPE_STRING, c10::ScalarType::Undefined, 0},
    {"FP16", inference::TYPE_FP16, c10::ScalarType::Half, 2},
    {"BF16", inference::TYPE_BF16, c10::ScalarType::BFloat16, 2},
    {"UINT8", inference::TYPE_UINT8, c10::ScalarType::Byte, 1},
    {"INT32", inference::TYPE_INT32, c10::ScalarType::Int, 4},
    {"BOOL", inference::TYPE_BOOL, c10::ScalarType::Bool, 1},
    {"FP64", inference::TYPE_FP64, c10::ScalarType::Double, 8},
    {"INT8", inference::TYPE_INT8, c10::ScalarType::Char, 1},
    {"INT16", inference::TYPE_INT16, c10::ScalarType::Short, 2},
    {"UINT16", inference::TYPE_UINT16, c10::ScalarType::UInt16, 2},
    {"UINT32", inference::TYPE_UINT32, c10::ScalarType::UInt32, 4},
    {"UINT64", inference::TYPE_UINT64, c10::ScalarType::UInt64, 8},
};

template <typename Matches>
const Datatype* Find(Matches matches) {
  for (const Datatype& datatype : kDatatypes) {
    if (matches(datatype)) return &datatype;
  }
  return nullptr;
}

}  // namespace

const Datatype* FindDatatype(std::string_view name) {
  return Find([&](const Datatype& datatype) { return name == datatype.name; });
}

const Datatype* FindDatatype(inference::DataType config) {
  return Find([&](const Datatype& datatype) { return config == datatype.config; });
}

const Datatype* FindDatatype(c10::ScalarType scalar) {
  if (scalar == c10::ScalarType::Undefined) return nullptr;
  return Find([&](const Datatype& datatype) { return scalar == datatype.scalar; });
}

const Datatype* BytesDatatype() {
  static const Datatype* const bytes = FindDatatype("BYTES");
  return bytes;
}

}  // namespace hearth
