// A call that recorded runs of its plan answer (captured_plan.h), in place of a run of the plan's code.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "jit/executor/execution_plan.h"
#include "jit/interpreter/interpreter.h"

namespace hearth {

struct ReplayedRun {
  std::shared_ptr<const ExecutionPlan> plan;
  std::shared_ptr<const Code> code;  // what runs where the recording does not fit after all
  std::vector<c10::IValue> arguments;
  RunOptions options;  // with a stream, and no turn to wait for
};

// As hearth::RunAsync. The completion is called when the GPU has been asked for the answer.
void ReplayAsync(ReplayedRun run, Completion completion);

}  // namespace hearth
