#include "jit/executor/forced_plans.h"

#include <utility>

#include "jit/executor/execution_plan.h"

namespace hearth {

PlanChoice ForcedPlans::Choose(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments) {
  const TierSettings& settings = plans_.settings();
  CodeCache& cache = plans_.cache();
  const CodeCache::Found found = cache.Lookup(method, spec, arguments);
  PlanChoice choice;
  PlanRequest request{.spec = spec, .least_runs = 1};
  if (settings.forced_profile && found.entry != nullptr) {
    if (found.due && found.entry->profile() == nullptr) plans_.MakeProfile(*found.entry, 1);
    if (EntryProfile* profile = found.entry->profile()) {
      choice.samples = profile->TakeSamples();
      if (choice.samples != nullptr) {
        choice.observed = plans_.compiler(method).observed();
        if (found.due) cache.Postpone(*found.entry);
        return choice;
      }
      request.profile = profile->Snapshot().seen;
    }
  }
  const std::optional<ExactShape> shape = ExactShape::Of(arguments);
  choice.plan = found.plan;
  if (choice.plan == nullptr) {
    request.likely = shape ? &*shape : nullptr;
    choice.plan = CompileFound(method, found, request);
  }
  if (!settings.forced_exact || choice.plan->tier() == 2 || !shape) return choice;
  request.shape = &*shape;
  request.likely = nullptr;
  choice.plan = Compile(method, request);
  if (found.entry != nullptr) cache.InstallExact(*found.entry, *shape, choice.plan, choice.plan->bytes());
  return choice;
}

std::shared_ptr<const ExecutionPlan> ForcedPlans::CompileFound(size_t method, const CodeCache::Found& found,
                                                               const PlanRequest& request) {
  std::shared_ptr<const ExecutionPlan> plan;
  try {
    plan = Compile(method, request);
  } catch (...) {
    if (found.due) plans_.cache().Fail(*found.entry);
    throw;
  }
  if (found.due) plans_.cache().Install(*found.entry, plan, plan->bytes());
  return plan;
}

std::shared_ptr<const ExecutionPlan> ForcedPlans::Compile(size_t method, const PlanRequest& request) const {
  return plans_.Generate(method, plans_.compiler(method).Optimise(request, nullptr), nullptr);
}

int32_t GuardDraw::Draw(const ExecutionPlan& plan, std::optional<uint64_t> wanted) {
  if (plan.num_guards() == 0) return -1;
  if (!wanted) {
    // splitmix64 (G. Steele, D. Lea, C. Flood, 2014).
    uint64_t bits = seed_ + (calls_.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    wanted = bits ^ bits >> 31;
  }
  return static_cast<int32_t>(*wanted % plan.num_guards());
}

}  // namespace hearth
