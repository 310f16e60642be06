#include "jit/executor/tier_report.h"

#include <utility>

#include "jit/executor/execution_plan.h"

namespace hearth {

std::vector<ListedPlan> ListPlans(const ModelPlans& plans) {
  std::vector<ListedPlan> listed;
  for (const auto& entry : plans.cache().Entries()) {
    auto made = plans.cache().PlansOf(*entry);
    if (made.empty()) made.push_back(nullptr);
    for (auto& plan : made) {
      const uint64_t calls = plan == nullptr || plan->tier() == 1 ? entry->calls() : plan->calls();
      listed.push_back({plans.name(entry->method()), entry->spec().ToString(), entry->state(), calls, std::move(plan)});
    }
  }
  return listed;
}

TierCounts CountPlans(const ModelPlans& plans) {
  TierCounts counts;
  counts.copied_bytes = plans.copied_bytes();
  counts.bailouts = plans.bailouts().bailouts.load(std::memory_order_relaxed);
  counts.guard_failures = plans.bailouts().guard_failures.load(std::memory_order_relaxed);
  counts.plan_exceptions = plans.bailouts().plan_exceptions.load(std::memory_order_relaxed);
  for (const auto& entry : plans.cache().Entries()) {
    ++counts.specs;
    if (entry->state() == CodeEntry::State::kFailed) ++counts.failed;
    for (const auto& plan : plans.cache().PlansOf(*entry)) {
      ++counts.plans[plan->tier() - 1];
      counts.bytes += plan->bytes();
      if (const CapturedPlan* captured = plan->captured()) counts.recorded_bytes += captured->Describe().bytes;
    }
  }
  return counts;
}

}  // namespace hearth
