// Constants that are one number for each channel of images or sequences, [batch, channels, ...].
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace hearth {

// Whether broadcasting lays the tensor along the channels, which are `channels`, of something of that rank.
bool IsPerChannel(const at::Tensor& tensor, int64_t rank, int64_t channels);

}  // namespace hearth
