#include "wire/dtypes.h"

#include <string>
#include <utility>
#include <vector>

namespace hearth {
namespace {

using c10::ScalarType;

// LibTorch's own list and names.
const std::vector<std::pair<std::string, ScalarType>>& Dtypes() {
  static const auto* const dtypes = [] {
    auto* found = new std::vector<std::pair<std::string, ScalarType>>();
    for (int i = 0; i < static_cast<int>(ScalarType::NumOptions); ++i) {
      const auto dtype = static_cast<ScalarType>(i);
      if (dtype == ScalarType::Undefined || c10::isQIntType(dtype)) continue;
      found->emplace_back(c10::getDtypeNames(dtype).first, dtype);
    }
    return found;
  }();
  return *dtypes;
}

}  // namespace

std::optional<ScalarType> DtypeOfName(std::string_view name) {
  for (const auto& [known, dtype] : Dtypes()) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

std::string NameOfDtype(ScalarType dtype) {
  for (const auto& [name, known] : Dtypes()) {
    if (known == dtype) return name;
  }
  return "";
}

}  // namespace hearth
