// Numbers that are taken out of tensors of one element, where these are computed from constants alone: a trace that
// pads an image as its sizes need has ceil(size / stride) and the like as arithmetic on such tensors, one that arranges
// patches has the root of their number.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <unordered_map>
#include <vector>

#include "jit/analysis/written_memory.h"
#include "jit/ir/graph.h"

namespace hearth {

// For a walk over a graph that may replace values by constants as it goes, and destroy nodes that it has passed.
class TensorNumbers {
 public:
  // Keeps `memory`.
  explicit TensorNumbers(const WrittenMemory& memory) : memory_(memory) {}

  // What `node`, such as aten::Int, gives of its tensor. Nothing where it is another node, where the number may be
  // another in another run, and where computing it fails. Computes with the operators themselves, where their tensors
  // are: a GPU may round otherwise.
  std::optional<c10::IValue> TakenBy(const Node& node);
  // The tensors that were computed for that, each after those that it is computed from. Making them cannot raise.
  const std::vector<const Value*>& computed() const { return computed_; }

 private:
  const std::optional<at::Tensor>& Of(const Value& tensor, int depth);
  std::optional<at::Tensor> Compute(const Value& tensor, int depth);

  const WrittenMemory& memory_;
  std::unordered_map<const Value*, std::optional<at::Tensor>> known_;
  std::vector<const Value*> computed_;
};

}  // namespace hearth
