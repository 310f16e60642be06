// A GRU's cell on plain float tensors: LibTorch's takes some fifteen operators on tensors of a few elements for what is
// two products, a sigmoid, a tanh and a loop. The same BLAS and functions do the same in the same order; results may be
// others than LibTorch's in the last bit or two, because its functions take most numbers of a row together and the last
// ones by themselves, and here rows are one behind the other. What is not plain goes LibTorch's way.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/gru_cell_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/tanh_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_product.h"

namespace hearth::native {
namespace {

// Of arguments whose products are plain.
bool AreCellSizes(const at::Tensor& input, const at::Tensor& state, const at::Tensor& input_weight,
                  const at::Tensor& state_weight) {
  if (input.dim() != 2 || state.dim() != 2 || input.sizes()[0] != state.sizes()[0]) return false;
  const int64_t width = state.sizes()[1];
  return input_weight.sizes()[0] == 3 * width && state_weight.sizes()[0] == 3 * width;
}

// gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor
void GruCell(NativeArguments in, IValue* out) {
  if (!IsPlainProduct(in[0], in[2], in[4]) || !IsPlainProduct(in[1], in[3], in[5]) ||
      !AreCellSizes(in[0].toTensor(), in[1].toTensor(), in[2].toTensor(), in[3].toTensor())) {
    EntryOf<at::_ops::gru_cell>().function(in, out);
    return;
  }
  const at::Tensor& state = in[1].toTensor();
  const int64_t rows = state.sizes()[0], width = state.sizes()[1];
  // Of each row what resets, what is kept and what is new.
  const at::Tensor of_input = PlainProduct(in[0].toTensor(), in[2].toTensor(), in[4]);
  const at::Tensor of_state = PlainProduct(state, in[3].toTensor(), in[5]);
  at::Tensor gates(at::detail::empty_cpu({rows, 2 * width}, at::kFloat));
  at::Tensor result(at::detail::empty_cpu({rows, width}, at::kFloat));
  const float* const a = of_input.const_data_ptr<float>();
  const float* const b = of_state.const_data_ptr<float>();
  float* const gate = gates.mutable_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < 2 * width; ++i) {
      gate[row * 2 * width + i] = b[row * 3 * width + i] + a[row * 3 * width + i];
    }
  }
  at::_ops::sigmoid_::call(gates);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t last = row * 3 * width + 2 * width;
    for (int64_t i = 0; i < width; ++i) to[row * width + i] = a[last + i] + b[last + i] * gate[row * 2 * width + i];
  }
  at::_ops::tanh_::call(result);
  const float* const before = state.const_data_ptr<float>();
  for (int64_t row = 0; row < rows; ++row) {
    const float* const kept = gate + row * 2 * width + width;
    for (int64_t i = 0; i < width; ++i) {
      float& value = to[row * width + i];
      value = (before[row * width + i] - value) * kept[i] + value;
    }
  }
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::gru_cell", GruCell}};

}  // namespace

std::span<const NativeEntry> CellNatives() { return kEntries; }

}  // namespace hearth::native
