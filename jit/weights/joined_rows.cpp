#include "jit/weights/joined_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "jit/weights/derived_constants.h"

namespace hearth {

c10::IValue JoinedRows(const std::vector<at::Tensor>& tensors, DerivedConstants& derived) {
  const std::vector<at::Tensor> made = derived.Get("joined rows", tensors, [&] {
    const at::NoGradGuard no_gradients;
    return std::vector<at::Tensor>{at::cat(tensors).detach()};
  });
  return made.empty() ? c10::IValue() : c10::IValue(made[0]);
}

}  // namespace hearth
