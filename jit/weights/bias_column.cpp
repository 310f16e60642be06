#include "jit/weights/bias_column.h"

#include <ATen/core/grad_mode.h>

#include <vector>

#include "jit/weights/derived_constants.h"

namespace hearth {

std::optional<at::Tensor> BiasColumn(const at::Tensor& bias, DerivedConstants& derived) {
  const std::vector<at::Tensor> made = derived.Get("bias as a column", {bias}, [&] {
    const at::NoGradGuard no_gradients;
    return std::vector<at::Tensor>{bias.detach().view({-1, 1})};
  });
  return made.empty() ? std::nullopt : std::optional(made.front());
}

}  // namespace hearth
