// Where two answers to the same call differ.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace hearth {

// In words, beginning with the path to it ("result.0.boxes"); empty if they agree. Of tensors the dtype, device, sizes
// and strides (of dimensions with more than one element) are the same and the values within a tolerance: of the dtype
// and the kind of device, by the largest element. Numbers and strings, and what kind of container holds them, are the
// same; floats nearly. What stands for something outside (futures, generators) is not looked at.
std::string ValueDifference(const c10::IValue& expected, const c10::IValue& got);

}  // namespace hearth
