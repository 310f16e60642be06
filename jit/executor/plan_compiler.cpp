#include "jit/executor/plan_compiler.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/passes/frame_states.h"
#include "jit/passes/observe.h"
#include "jit/passes/pipelines.h"
#include "jit/passes/specialize_profile.h"

namespace hearth {
namespace {

// What the profile says of the Values of `plan`, a copy of the baseline.
ProfileClaims ClaimsOf(const PlanRequest& request, std::span<const ProfileSite> sites, const Graph& plan) {
  ProfileClaims claims;
  claims.least_runs = request.least_runs;
  const std::vector<Value*> values = ValuesInOrder(plan);
  for (const ProfileSite& site : sites) {
    if (request.refuted.count(site.number) != 0) continue;
    const auto seen = request.profile.values.find(site.number);
    claims.values[values[site.number]->id()] = {site.number,
                                                seen == request.profile.values.end() ? nullptr : &seen->second,
                                                request.refuted.count(site.number + kSizesOf) == 0};
  }
  return claims;
}

}  // namespace

PlanCompiler::PlanCompiler(const Graph& baseline, std::string function_name, bool guard_everywhere,
                           DerivedConstantTable* derived)
    : baseline_(baseline),
      function_name_(std::move(function_name)),
      guard_everywhere_(guard_everywhere),
      derived_(derived) {}

void PlanCompiler::Prepare() const {
  const std::lock_guard lock(mutex_);
  if (resumable_ != nullptr) return;
  anchors_ = FindAnchors(baseline_);
  sites_ = FindProfileSites(baseline_);
  fingerprint_ = FingerprintOf(baseline_);
  observed_ = CompileCode(*CloneWithObservers(baseline_, sites_), function_name_);
  resumable_ = CompileResumable(baseline_, function_name_, anchors_);
}

std::unique_ptr<const ExecutionPlan> PlanCompiler::Compile(const PlanRequest& request,
                                                           CompileProgress* progress) const {
  const auto begin = [&](std::string_view pass) {
    if (progress != nullptr) progress->Begin(pass);
  };
  const auto start = std::chrono::steady_clock::now();
  begin("frame_states");
  Prepare();
  std::unique_ptr<Graph> graph = CloneWithFrameStates(baseline_, anchors_);
  const ProfileClaims claims = ClaimsOf(request, sites_, *graph);
  // The spec is of what callers give; a method's self comes before.
  std::vector<ArgumentFacts> facts = request.spec.Facts();
  if (request.shape != nullptr) request.shape->AddTo(facts);
  if (request.likely != nullptr) request.likely->AddAsLikelyTo(facts);
  if (facts.size() < graph->inputs().size()) facts.insert(facts.begin(), ArgumentFacts())->kind = ArgumentKind::kObject;
  const PlanReport report = OptimizePlan(*graph, {facts, nullptr, derived_, &claims, begin});
  if (guard_everywhere_) GuardEverywhere(*graph);
  begin("lowering");
  std::shared_ptr<const Code> code = CompilePlan(*graph, function_name_, resumable_);
  return std::make_unique<const ExecutionPlan>(
      std::move(graph), std::move(code), std::chrono::steady_clock::now() - start,
      ExecutionPlan::Origin{.questions = report.questions.size(),
                            .shape = request.shape == nullptr ? "" : request.shape->ToString(),
                            .lacks_room = report.lacks_room});
}

}  // namespace hearth
