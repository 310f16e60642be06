// What the runs of a plan execute, whatever it is made of: the executor decides when a plan runs and whether it stays,
// and asks no more of it than this. Today there is one kind, the interpreter's Code.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "jit/interpreter/bailout_record.h"
#include "jit/ir/graph.h"

namespace hearth {

class Code;

// Immutable and thread-safe, but for what its bailouts count.
class PlanExecutable {
 public:
  virtual ~PlanExecutable() = default;

  // What a run begins with (RunAsync); where it cannot go on, it leaves for the baseline by itself. Whoever runs it
  // keeps this alive.
  virtual const std::shared_ptr<const Code>& entry() const = 0;
  // The optimised graph that it was made of.
  virtual const Graph& graph() const = 0;
  virtual BailoutRecord& bailouts() const = 0;
  // About what it takes beside the tensors that it shares with the model.
  virtual size_t bytes() const = 0;
};

// The interpreter's Code of `plan`, a Graph with FrameStates whose anchors are resume points of `baseline`. `totals`,
// which may be null, are counted beside its own bailouts.
std::unique_ptr<const PlanExecutable> CompilePlan(std::unique_ptr<const Graph> plan, const std::string& function_name,
                                                  std::shared_ptr<const Code> baseline,
                                                  std::shared_ptr<BailoutTotals> totals = nullptr);

}  // namespace hearth
