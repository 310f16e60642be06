// hearth::grouped_linear: linear layers side by side, each of its own part of the input's last dimension, as one
// batched product of matrices. What a convolution of single pixels in groups is of pixels whose channels lie one after
// the other.
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

// grouped_linear(Tensor input, Tensor weight) -> Tensor
//
// Of an input [..., groups * inputs] and a weight [groups, inputs, outputs]: [..., groups * outputs], new memory in the
// default order. The matrices of the product are parts of the input and of the result as these lie, which BLAS takes
// without copies.
void GroupedLinear(NativeArguments in, IValue* out) {
  const at::Tensor &input = in[0].toTensor(), &weight = in[1].toTensor();
  TORCH_CHECK(weight.dim() == 3 && input.dim() >= 1 && input.size(-1) == weight.size(0) * weight.size(1),
              "expected a weight [groups, inputs, outputs] and an input [..., groups * inputs], found sizes ",
              weight.sizes(), " and ", input.sizes());
  const int64_t groups = weight.size(0), inputs = weight.size(1), outputs = weight.size(2);
  const int64_t rows = c10::multiply_integers(input.sizes().slice(0, static_cast<size_t>(input.dim()) - 1));
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = groups * outputs;
  at::Tensor result = at::empty(sizes, input.options());
  at::Tensor products = result.view({rows, groups, outputs}).transpose(0, 1);
  at::bmm_out(products, input.reshape({rows, groups, inputs}).transpose(0, 1), weight);
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"hearth::grouped_linear", GroupedLinear}};

}  // namespace

std::span<const NativeEntry> GroupedLinearNatives() { return kEntries; }

}  // namespace hearth::native
