// Which operators of LibTorch share their work among threads. OpenMP's threads sleep when there is nothing for them to
// do (support/operator_threads.h), and waking them takes as long as many operators take on one thread: on two
// processors of a virtual machine, where that is 50 to 100 µs, a small network took three times as long on both as on
// one. So an operator whose work is little beside that is done by the calling thread alone. hearth's own kernels decide
// for themselves (support/parallel_for.h).
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <span>

#include "jit/ir/graph.h"
#include "jit/support/operator_threads.h"

namespace hearth {

// What says how long an operator takes.
enum class WorkMeasure : int32_t {
  kUnknown,   // nothing: it has all threads
  kElements,  // of the largest operand
  kRows,      // the same of operators that share few of them, too
  kPooledElements,
  kProduct,       // of the first two operands
  kAddedProduct,  // of the two after the first
  kConvolution,   // of the first two operands
  kAttention,     // of queries and keys, the first two
  kLayer,         // of the first operand, whose rows meet all other tensors
  kRecurrence,    // of the first operand, whose steps each meet all tensors of a list
};

WorkMeasure WorkMeasureOf(const Node& node);

// Whether an operator with these operands is done sooner by one thread than by `threads`, and would use them.
bool IsDoneAlone(WorkMeasure measure, std::span<const c10::IValue* const> operands, int threads);

// While it lives, the calling thread's operators run on it alone, if such an operator is done sooner so.
class WorkShare {
 public:
  WorkShare(WorkMeasure measure, std::span<const c10::IValue* const> operands) {
    if (measure != WorkMeasure::kUnknown) Decide(measure, operands);
  }

 private:
  void Decide(WorkMeasure measure, std::span<const c10::IValue* const> operands);

  std::optional<OneOperatorThread> alone_;
};

}  // namespace hearth
