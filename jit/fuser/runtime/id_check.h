// Whether a kernel may read the elements of a tensor that another tensor names.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace hearth::fuser {

// Throws c10::Error unless each element of `ids`, a CPU's tensor of int32 or int64 in whatever strides, is at least 0
// (`from_end`: -size) and less than `size`.
void CheckIds(const at::Tensor& ids, int64_t size, bool from_end);

}  // namespace hearth::fuser
