// hearth::lstm and hearth::gru, which plans call in the place of LibTorch's recurrent layers, with the call that was
// planned as their third operand (libraries/recurrence.h). What that was not prepared for goes LibTorch's way.
#include <ATen/ops/gru_ops.h>
#include <ATen/ops/lstm_ops.h>

#include <array>

#include "jit/libraries/recurrence.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"

namespace hearth::native {
namespace {

constexpr size_t kPlanned = 2;

const libraries::Recurrence& RecurrenceOf(NativeArguments in) {
  const libraries::Recurrence* planned = libraries::Recurrence::Unwrap(in[kPlanned]);
  TORCH_CHECK(planned != nullptr, "expected a planned recurrent layer, found ", in[kPlanned].tagKind());
  return *planned;
}

// With all operands but the planned call.
template <typename Operator>
void ByLibTorch(NativeArguments in, IValue* out) {
  constexpr size_t kOperands = 9;
  std::array<const IValue*, kOperands> operands;
  TORCH_INTERNAL_ASSERT(in.count == kOperands + 1);
  for (size_t i = 0; i < kOperands; ++i) operands[i] = in.values[i < kPlanned ? i : i + 1];
  EntryOf<Operator>().function({operands.data(), kOperands}, out);
}

// lstm(Tensor input, Tensor[] hx, Any planned, Tensor[] params, bool has_biases, int num_layers, float dropout,
//  bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
void Lstm(NativeArguments in, IValue* out) {
  const libraries::Recurrence& planned = RecurrenceOf(in);
  const std::vector<IValue>& states = Elements(in[1]);
  if (states.size() == 2) {
    const at::Tensor &hidden = states[0].toTensor(), &memory = states[1].toTensor();
    if (auto results = planned.Run(in[0].toTensor(), hidden, &memory)) {
      out[0] = std::move(results->output);
      out[1] = std::move(results->hidden);
      out[2] = std::move(results->memory);
      return;
    }
  }
  ByLibTorch<at::_ops::lstm_input>(in, out);
}

// gru(Tensor input, Tensor hx, Any planned, and so on) -> (Tensor, Tensor)
void Gru(NativeArguments in, IValue* out) {
  if (auto results = RecurrenceOf(in).Run(in[0].toTensor(), in[1].toTensor(), nullptr)) {
    out[0] = std::move(results->output);
    out[1] = std::move(results->hidden);
    return;
  }
  ByLibTorch<at::_ops::gru_input>(in, out);
}

constexpr NativeEntry kEntries[] = {{"hearth::lstm", Lstm}, {"hearth::gru", Gru}};

}  // namespace

std::span<const NativeEntry> RecurrenceNatives() { return kEntries; }

}  // namespace hearth::native
