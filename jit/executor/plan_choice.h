// What a call runs in place of the baseline's Code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace hearth {

class Code;
class ExecutionPlan;
class RunSamples;

// What is known of a call beside its method and arguments.
struct ChoiceRequest {
  // Where guards are made to fail, the number of the one that does, of so many as the plan has; null: one is drawn.
  std::optional<uint64_t> failing_guard;
  // Calls like it are to come: its sizes have a plan of their own as soon as one can be made.
  bool is_warmup = false;
};

struct PlanChoice {
  std::shared_ptr<const ExecutionPlan> plan;  // null: the baseline
  std::shared_ptr<const Code> observed;       // where the call is sampled: the baseline's Code that fills `samples`
  std::shared_ptr<RunSamples> samples;
  int32_t failing_guard = -1;
};

}  // namespace hearth
