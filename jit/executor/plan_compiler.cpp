#include "jit/executor/plan_compiler.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/compiler/compilation.h"
#include "jit/interpreter/interpreter.h"
#include "jit/passes/pipelines.h"

namespace hearth {
namespace {

// What the profile says of the Values of `plan`, a copy of the baseline.
ProfileClaims ClaimsOf(const PlanRequest& request, std::span<const ProfileSite> sites, const Graph& plan) {
  ProfileClaims claims;
  claims.least_runs = request.least_runs;
  const std::vector<Value*> values = ValuesInOrder(plan);
  for (const ProfileSite& site : sites) {
    if (request.deoptimised.count(site.number) != 0) continue;
    const auto seen = request.profile.values.find(site.number);
    claims.values[values[site.number]->id()] = {site.number,
                                                seen == request.profile.values.end() ? nullptr : &seen->second,
                                                request.deoptimised.count(site.number + kSizesOf) == 0};
  }
  return claims;
}

}  // namespace

PlanCompiler::PlanCompiler(const Graph& baseline, std::string function_name, bool guard_everywhere,
                           DerivedConstantTable* weights, StateWrites state_writes, const UnitEffects* effects,
                           std::shared_ptr<BailoutTotals> totals, std::shared_ptr<fuser::KernelSource> kernels)
    : baseline_(baseline),
      function_name_(std::move(function_name)),
      guard_everywhere_(guard_everywhere),
      weights_(state_writes.tensors ? nullptr : weights),
      state_writes_(state_writes),
      effects_(effects),
      totals_(std::move(totals)),
      kernels_(std::move(kernels)) {}

void PlanCompiler::Prepare() const {
  const std::lock_guard lock(mutex_);
  if (resumable_ != nullptr) return;
  anchors_ = FindAnchors(baseline_, Liveness(*baseline_.block()));
  sites_ = FindProfileSites(baseline_);
  fingerprint_ = FingerprintOf(baseline_);
  CompilationInputs inputs;
  inputs.target = target_;
  inputs.effects = effects_;
  inputs.sites = &sites_;
  Compilation observed(baseline_, std::move(inputs));
  BuildObserved(observed);
  observed_ = CompileCode(observed.source(), function_name_);
  resumable_ = CompileResumable(baseline_, function_name_, anchors_);
}

OptimisedPlan PlanCompiler::Optimise(const PlanRequest& request, CompileProgress* progress) const {
  const auto begin = [&](std::string_view pass) {
    if (progress != nullptr) progress->Begin(pass);
  };
  const auto start = std::chrono::steady_clock::now();
  begin("prepare");
  Prepare();
  CompilationInputs inputs;
  inputs.target = target_;
  inputs.effects = effects_;
  inputs.anchors = &anchors_;
  inputs.state_writes = state_writes_;
  inputs.weights = weights_;
  inputs.kernels = request.kernels != nullptr ? request.kernels : kernels_.get();
  inputs.makes_kernels = request.makes_kernels;
  inputs.guard_everywhere = guard_everywhere_;
  inputs.begin = begin;
  // The spec is of what callers give; a method's self comes before.
  std::vector<ArgumentFacts>& facts = inputs.arguments;
  facts = request.spec.Facts();
  if (request.shape != nullptr) request.shape->AddTo(facts);
  if (request.likely != nullptr) request.likely->AddAsLikelyTo(facts);
  if (facts.size() < baseline_.inputs().size()) {
    facts.insert(facts.begin(), ArgumentFacts())->kind = ArgumentKind::kObject;
  }
  Compilation plan(baseline_, std::move(inputs));
  BuildPlan(plan);
  plan.SetClaims(ClaimsOf(request, sites_, plan.source()));
  OptimizePlan(plan);
  const CompilationReport& report = plan.report();
  const ExecutionPlan::Origin origin = {.speculation_sites = report.questions.size(),
                                        .shape = request.shape == nullptr ? "" : request.shape->ToString(),
                                        .lacks_room = report.lacks_room,
                                        .lacks_kernels = !report.kernels.empty(),
                                        .passes = report.steps,
                                        .memory = report.memory};
  std::vector<std::string> kernels = report.kernels;
  return {plan.TakeGraph(), origin, std::chrono::steady_clock::now() - start, std::move(kernels)};
}

std::unique_ptr<const ExecutionPlan> PlanCompiler::Generate(OptimisedPlan optimised, CompileProgress* progress) const {
  if (progress != nullptr) progress->Begin("lowering");
  const auto start = std::chrono::steady_clock::now();
  auto executable = CompilePlan(std::move(optimised.graph), function_name_, resumable_, totals_);
  return std::make_unique<const ExecutionPlan>(
      std::move(executable), optimised.time + (std::chrono::steady_clock::now() - start), optimised.origin);
}

}  // namespace hearth
