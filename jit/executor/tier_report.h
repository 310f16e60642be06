// What people and metrics are told of a model's tiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/executor/code_cache.h"
#include "jit/executor/model_plans.h"

namespace hearth {

struct ListedPlan {
  std::string method;  // its qualified name
  std::string spec;
  CodeEntry::State state;
  uint64_t calls;
  std::shared_ptr<const ExecutionPlan> plan;  // null if there is none
};
// One for each spec without a plan, and one for each plan.
std::vector<ListedPlan> ListPlans(const ModelPlans& plans);

struct TierCounts {
  size_t specs = 0;
  size_t failed = 0;
  size_t plans[2] = {0, 0};  // of tiers 1 and 2
  size_t bytes = 0;
  size_t copied_bytes = 0;    // of weights that were packed or folded for plans
  size_t recorded_bytes = 0;  // of a GPU's memory, which recorded runs of plans hold
  // Of the model's whole life, whatever became of the plans:
  uint64_t bailouts = 0;
  uint64_t guard_failures = 0;
  uint64_t plan_exceptions = 0;   // of the bailouts: for what the plan raised and the baseline did not
  uint64_t invalidated = 0;       // plans that did so too often
  uint64_t calls[3] = {0, 0, 0};  // by the tier that began them, the baseline first; estimated beyond the first few
};
// All but `invalidated` and `calls`, which whoever chooses counts.
TierCounts CountPlans(const ModelPlans& plans);

}  // namespace hearth
