// Layers of LSTM and GRU cells whose weights are known: planned with oneDNN for the numbers of steps and sequences that
// they were prepared for, or by hearth's own kernels (recurrent_cells.h), which take any number.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/libraries/packed_weight.h"

namespace hearth::libraries {

// What aten::lstm or aten::gru is told beside its tensors.
struct RecurrenceSettings {
  bool has_memory = true;  // an LSTM's cells; a GRU's have none
  bool has_biases = true;
  int64_t layers = 1;
  int64_t directions = 1;  // 2: one that goes forward and one that goes back
  bool batch_first = false;
};

struct RecurrentLayers;
class RecurrenceTable;

// Thread-safe but for SetWeights.
class Recurrence : public torch::CustomClassHolder {
 public:
  // `parameters`: as aten::lstm and aten::gru have them, for each layer and direction the weights of the input and of
  // the state, [gates * hidden, inputs] and [gates * hidden, hidden], and their biases, if there are any; float32,
  // plain. Throws c10::Error if they are others.
  Recurrence(RecurrenceSettings settings, const std::vector<at::Tensor>& parameters);
  ~Recurrence() override;

  const RecurrenceSettings& settings() const { return settings_; }
  int64_t inputs() const { return inputs_; }
  int64_t hidden() const { return hidden_; }

  // In which forms oneDNN or the own kernels want the weights for so many steps of so many sequences, on as many
  // threads as the calling thread's operators have. Empty where there is no code for them.
  std::string FormsFor(int64_t steps, int64_t sequences) const;
  // The weights in these forms: three tensors for each layer. Throws c10::Error where there are none.
  std::vector<at::Tensor> PackFor(int64_t steps, int64_t sequences) const;
  // What FormsFor and PackFor gave, here or for the same parameters elsewhere.
  void SetWeights(std::string forms, std::vector<at::Tensor> packed) {
    forms_ = std::move(forms);
    packed_ = std::move(packed);
  }

  // Makes what calls with so many steps and sequences need on as many threads as the calling thread's operators have.
  void Prepare(int64_t steps, int64_t sequences) const;

  struct Results {
    at::Tensor output;  // strides as LibTorch's
    at::Tensor hidden;
    at::Tensor memory;  // an LSTM's
  };
  // `input`: [steps, sequences, inputs], or sequences first; `hidden` and `memory`: the states before, [layers *
  // directions, sequences, hidden]. Nothing where oneDNN was not prepared for it, or an operand is of another kind.
  std::optional<Results> Run(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor* memory) const;

  // As the constant operand of a node, and back; null if it is no such thing.
  static c10::IValue Wrap(c10::intrusive_ptr<Recurrence> recurrence);
  static const Recurrence* Unwrap(const c10::IValue& value);

 private:
  // Also the packed weights, if there is somewhere to put them. Null where the library has no code.
  std::shared_ptr<const RecurrentLayers> Make(int64_t steps, int64_t sequences, std::vector<at::Tensor>* packed) const;
  // Gives the output, and fills the states of `results`.
  at::Tensor RunPrimitives(const RecurrentLayers& prepared, at::Tensor sequence, const at::Tensor& before,
                           const at::Tensor& memory_before, Results& results) const;

  const RecurrenceSettings settings_;
  std::vector<at::Tensor> parameters_;
  int64_t inputs_ = 0, hidden_ = 0;
  std::string forms_;
  std::vector<at::Tensor> packed_;
  const std::unique_ptr<RecurrenceTable> prepared_;
};

}  // namespace hearth::libraries
