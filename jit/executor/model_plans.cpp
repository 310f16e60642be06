#include "jit/executor/model_plans.h"

#include <algorithm>
#include <utility>

#include "jit/executor/execution_plan.h"
#include "jit/executor/side_effect.h"

namespace hearth {

ModelPlans::ModelPlans(TierSettings settings, const std::vector<Method>& methods, StateWrites state_writes)
    : settings_(std::move(settings)),
      derived_(settings_.copies != nullptr ? settings_.copies : std::make_shared<DerivedConstantBudget>()),
      cache_(settings_.budget, methods.size(), settings_.cache) {
  for (const Method& method : methods) {
    methods_.push_back(
        {method.name, method.baseline->inputs().size(), method.baseline, method.effects,
         std::make_unique<PlanCompiler>(*method.baseline, method.name, settings_.fail_guards.has_value(), &derived_,
                                        state_writes, method.effects, totals_, settings_.kernels)});
  }
}

std::optional<size_t> ModelPlans::Find(std::string_view name) const {
  const auto found = std::ranges::find(methods_, name, &CompiledMethod::name);
  if (found == methods_.end()) return std::nullopt;
  return static_cast<size_t>(found - methods_.begin());
}

std::shared_ptr<const ExecutionPlan> ModelPlans::Generate(size_t method, OptimisedPlan optimised,
                                                          CompileProgress* progress) const {
  if (settings_.capture && !optimised.origin.shape.empty()) {
    optimised.origin.captured = std::make_shared<CapturedPlan>(*settings_.capture);
    const CompiledMethod& of = methods_[method];
    // A plan may have lost what its baseline has in branches that it never takes, as warnings are.
    const std::string reason = ReasonNotToRecord(*optimised.graph, *of.effects);
    if (!reason.empty() && !ReasonNotToRecord(*of.baseline, *of.effects).empty()) {
      optimised.origin.captured->Refuse(reason);
    }
  }
  std::unique_ptr<const ExecutionPlan> plan = compiler(method).Generate(std::move(optimised), progress);
  if (settings_.disposal == nullptr) return plan;
  return settings_.disposal->Own(std::move(plan));
}

void ModelPlans::MakeProfile(CodeEntry& entry, uint32_t runs) const {
  const PlanCompiler& of_method = compiler(entry.method());
  of_method.Prepare();
  SpeculationProfile earlier;
  if (entry.earlier() != nullptr && entry.earlier()->speculation) earlier = *entry.earlier()->speculation;
  if (earlier.baseline != of_method.fingerprint()) earlier = {};
  const auto profile =
      std::make_shared<EntryProfile>(of_method.sites(), runs, settings_.max_deoptimisations, std::move(earlier));
  for (const EntryProfile::CountedShape& counted : EarlierShapes(entry)) {
    profile->Remember(counted.shape, counted.calls, counted.taken);
  }
  entry.SetProfile(profile);
}

std::vector<EntryProfile::CountedShape> EarlierShapes(const CodeEntry& entry) {
  std::vector<EntryProfile::CountedShape> shapes;
  if (entry.earlier() != nullptr) {
    for (const StoredShape& stored : entry.earlier()->shapes) {
      std::optional<ExactShape> shape = ExactShape::Restore(stored.numbers, entry.spec());
      if (shape) shapes.push_back({*std::move(shape), stored.calls, stored.exact});
    }
  }
  if (shapes.empty() && entry.shape()) shapes.push_back({*entry.shape(), 1, false});
  return shapes;
}

}  // namespace hearth
