// Flattens a model's answer to named tensors. A leaf's name is its path: positions in lists and tuples, keys of dicts,
// names of NamedTuples' fields and of objects' attributes, joined by dots ("0.boxes"). An answer that is one leaf has
// the empty path. Leaves are
//
//   Tensor                              as it is (dense, on the CPU)
//   int, float, bool, str               INT64, FP64, BOOL, BYTES of shape []
//   List[int], List[float], List[bool], List[str]    the same, of shape [length]
//   None                                a leaf without datatype, which is not sent
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth {

// What an answer that is one leaf is called where it has a name.
inline constexpr const char* kOnlyOutput = "OUTPUT__0";

// The leaves in the order of the answer; their names are their paths. Tensors may still share memory with the value, or
// be on a device: see ReadyToSend. kInternal, naming path and type, for what has no form in the protocol (complex and
// quantized tensors, classes of C++, ...).
absl::StatusOr<std::vector<WireTensor>> TensorsFromValue(const c10::IValue& value);

}  // namespace hearth
