// What a call runs in place of the baseline's Code.
#pragma once

#include <cstdint>
#include <memory>

namespace hearth {

class Code;
class ExecutionPlan;
class RunSamples;

struct PlanChoice {
  std::shared_ptr<const ExecutionPlan> plan;  // null: the baseline
  std::shared_ptr<const Code> observed;       // where the call is sampled: the baseline's Code that fills `samples`
  std::shared_ptr<RunSamples> samples;
  int32_t failing_guard = -1;
};

}  // namespace hearth
