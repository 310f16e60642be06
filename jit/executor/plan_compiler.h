// Makes the plans of one method.
//
// What all of them share, the places where runs can be taken up and the baseline's Code with its resume points, is made
// with the first one: a method that nobody calls costs nothing.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/executor/background_compiler.h"
#include "jit/executor/execution_plan.h"
#include "jit/ir/graph.h"
#include "jit/passes/frame_states.h"

namespace hearth {

class DerivedConstants;

// Thread-safe.
class PlanCompiler {
 public:
  // `baseline` is what the method's Code was made of, without later changes; it must outlive this, and its unit the
  // plans. With `guard_everywhere`, plans get a guard before every node that they may leave for the baseline at, for
  // tests that make one fail. `derived` as in PlanOptions; shared by the model's methods.
  PlanCompiler(const Graph& baseline, std::string function_name, bool guard_everywhere, DerivedConstants* derived);

  // Takes milliseconds and more. `progress`, which may be null, is told each pass. Throws what a pass throws, which is
  // a defect of the pass and not of the model, and what `progress` throws.
  std::shared_ptr<const ExecutionPlan> Compile(const ArgumentSpec& spec, CompileProgress* progress) const;

 private:
  void Prepare() const;

  const Graph& baseline_;
  const std::string function_name_;
  const bool guard_everywhere_;
  DerivedConstants* const derived_;
  mutable std::mutex mutex_;
  mutable std::vector<Anchor> anchors_;
  mutable std::shared_ptr<const Code> resumable_;  // null until the first plan
};

}  // namespace hearth
