#include "jit/executor/plan_compiler.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/passes/pipelines.h"

namespace hearth {

PlanCompiler::PlanCompiler(const Graph& baseline, std::string function_name, bool guard_everywhere,
                           DerivedConstants* derived)
    : baseline_(baseline),
      function_name_(std::move(function_name)),
      guard_everywhere_(guard_everywhere),
      derived_(derived) {}

void PlanCompiler::Prepare() const {
  const std::lock_guard lock(mutex_);
  if (resumable_ != nullptr) return;
  anchors_ = FindAnchors(baseline_);
  std::vector<ResumePlace> places;
  for (const Anchor& anchor : anchors_) places.push_back({anchor.place, anchor.live});
  resumable_ = CompileResumable(baseline_, function_name_, places);
}

std::shared_ptr<const ExecutionPlan> PlanCompiler::Compile(const ArgumentSpec& spec, CompileProgress* progress) const {
  const auto begin = [&](std::string_view pass) {
    if (progress != nullptr) progress->Begin(pass);
  };
  const auto start = std::chrono::steady_clock::now();
  begin("frame_states");
  Prepare();
  std::unique_ptr<Graph> graph = CloneWithFrameStates(baseline_, anchors_);
  begin("optimise");
  // The spec is of what callers give; a method's self comes before.
  std::vector<ArgumentFacts> facts = spec.Facts();
  if (facts.size() < graph->inputs().size()) facts.insert(facts.begin(), ArgumentFacts())->kind = ArgumentKind::kObject;
  OptimizePlan(*graph, {facts, nullptr, derived_});
  if (guard_everywhere_) GuardEverywhere(*graph);
  begin("lowering");
  std::shared_ptr<const Code> code = CompilePlan(*graph, function_name_, resumable_);
  return std::make_shared<const ExecutionPlan>(std::move(graph), std::move(code),
                                               std::chrono::steady_clock::now() - start);
}

}  // namespace hearth
