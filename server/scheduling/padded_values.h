// Tensors of different lengths in one batch (repository/batch_padding.h): which of a call's tensors are padded, filled
// up to the batch's lengths, and the answer's cut back to the call's own.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "server/repository/batch_padding.h"
#include "server/scheduling/call_arguments.h"

namespace hearth::server {

// Of a call's tensors those that are padded, each with the entries of BatchPadding::inputs that it has.
using PaddedTensors = std::map<const c10::TensorImpl*, std::vector<size_t>>;
PaddedTensors FindPadded(const CallArguments& call, const BatchPadding& padding);

// The tensors one behind the other along dimension 0, in one allocation, by `make` where that gives some, each at the
// beginning of its rows, which have the `lengths` (by entry of BatchPadding::inputs) along the dimensions of `entries`
// and are filled up with their value. The last row is there `repeats` times more.
at::Tensor ConcatenatePadded(std::span<const at::Tensor> tensors, int64_t repeats, const NewLockedTensor& make,
                             const BatchPadding& padding, std::span<const size_t> entries,
                             std::span<const int64_t> lengths);

// Cuts an answer's tensors of BatchPadding::outputs back from the lengths that the batch had to the call's own, as
// views. False if one of them is not there, or has not the length of the batch.
bool Trim(c10::IValue& answer, const BatchPadding& padding, std::span<const int64_t> own,
          std::span<const int64_t> of_batch);

}  // namespace hearth::server
