// Recurrent layers by kernels of hearth's own (kernels/recurrence.h), where these are faster than the library's: oneDNN
// multiplies states as it does large matrices, and calls for all threads anew in each step, which have gone to sleep
// since the one before. Here a thread goes through all steps of its share of directions and sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "jit/libraries/recurrence.h"

namespace hearth::libraries {

// What tells their packed weights from the library's.
inline constexpr const char* kCellForms = "gates of sixteen units";

bool HasCells();
// Whether layers with so many hidden units are faster so, on as many threads as the calling thread's operators have.
bool SuitsCells(const RecurrenceSettings& settings, int64_t hidden, int64_t sequences);

// Three tensors for each layer.
std::vector<at::Tensor> PackCells(const RecurrenceSettings& settings, const std::vector<at::Tensor>& parameters);

// `input`: [steps, sequences, inputs], contiguous, as are the states before. Gives [steps, sequences, directions *
// hidden], and fills the states of `results`.
at::Tensor RunCells(const RecurrenceSettings& settings, const std::vector<at::Tensor>& packed, at::Tensor input,
                    const at::Tensor& hidden, const at::Tensor* memory, Recurrence::Results& results);

}  // namespace hearth::libraries
