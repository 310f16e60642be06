// PyTorch's names of dtypes ("float32", "bfloat16") and the dtypes that a dense tensor's bytes can be sent in: all but
// the quantized ones, whose scales are no part of the elements. Thread-safe.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// Nothing for a name that is none, and for a quantized dtype.
std::optional<c10::ScalarType> DtypeOfName(std::string_view name);
// Empty for a dtype that cannot be sent.
std::string NameOfDtype(c10::ScalarType dtype);

}  // namespace hearth
