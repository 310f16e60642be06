#include "jit/passes/pipelines.h"

#include <atomic>
#include <cstdlib>
#include <limits>

#include "jit/analysis/effects.h"
#include "jit/analysis/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/printer.h"
#include "jit/ir/symbols.h"
#include "jit/ir/verifier.h"
#include "jit/passes/autocast.h"
#include "jit/passes/build_lists.h"
#include "jit/passes/canonical_order.h"
#include "jit/passes/common_subexpressions.h"
#include "jit/passes/constant_lists.h"
#include "jit/passes/dead_code.h"
#include "jit/passes/decompose_einsum.h"
#include "jit/passes/derived_constants.h"
#include "jit/passes/early_guards.h"
#include "jit/passes/fold_batch_norms.h"
#include "jit/passes/fold_constant_tensors.h"
#include "jit/passes/fold_facts.h"
#include "jit/passes/group_linears.h"
#include "jit/passes/hoist_invariants.h"
#include "jit/passes/implied_conditions.h"
#include "jit/passes/make_linears.h"
#include "jit/passes/move_forks.h"
#include "jit/passes/pack_convolutions.h"
#include "jit/passes/pack_linears.h"
#include "jit/passes/peel_loops.h"
#include "jit/passes/plan_memory.h"
#include "jit/passes/private_writes.h"
#include "jit/passes/scalar_tensors.h"
#include "jit/passes/simplify_views.h"
#include "jit/passes/sink.h"
#include "jit/passes/specialize.h"
#include "jit/passes/specialize_profile.h"
#include "jit/passes/split_tuples.h"
#include "jit/passes/unroll_loops.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("passes/pipelines");
  return log;
}

constexpr int kMaxRounds = 4;

// HEARTH_OPT_LIMIT=N lets the process run the first N passes only, to bisect a miscompile.
bool WithinOptLimit() {
  static const long kLimit = [] {
    const char* text = std::getenv("HEARTH_OPT_LIMIT");
    return text == nullptr ? std::numeric_limits<long>::max() : std::atol(text);
  }();
  static std::atomic<long> count{0};
  return kLimit == std::numeric_limits<long>::max() || count.fetch_add(1) < kLimit;
}

void Check(const char* step, const Graph& graph) {
  if (Log().should_log(spdlog::level::debug)) {
    Log().debug("after {} ({} nodes):\n{}", step, graph.num_nodes(), PrintGraph(graph));
  }
#ifndef NDEBUG
  Verify(graph);
#endif
}

// Whether the pass changed something.
template <typename Pass>
bool Run(const char* name, Graph& graph, Pass pass) {
  if (!WithinOptLimit() || !pass(graph)) return false;
  Check(name, graph);
  return true;
}

}  // namespace

std::unique_ptr<Graph> BuildBaseline(const Graph& emitted, const BaselineOptions& options) {
  Check("emission", emitted);
  auto [graph, sent_in_tuples] = WithinOptLimit() ? Specialize(emitted, options) : Specialized{emitted.Clone(), {}};
  Check("specialize", *graph);
  // Part of the language and no optimisation: not subject to the limit.
  if (InsertAutocasts(*graph)) Check("autocast", *graph);
  Run("scalar_tensors", *graph, [&](Graph& g) { return ForwardScalarTensors(g, options.effects); });
  Run("dead_code", *graph, [&](Graph& g) { return EliminateDeadCode(g, options.effects, sent_in_tuples); });
  Run("constant_lists", *graph, [&](Graph& g) { return MakeConstantLists(g, options.effects); });
  Run("sink", *graph, [&](Graph& g) { return SinkIntoBranches(g, options.effects); });
  return std::move(graph);
}

PlanReport OptimizePlan(Graph& plan, const PlanOptions& options) {
  PlanReport report;
  Check("frame states", plan);
  const char* current = "";
  const auto run = [&](const char* pass, const auto& change) {
    current = pass;
    if (options.begin) options.begin(pass);
    return Run(pass, plan, change);
  };
  const auto fold_facts = [&](Graph& g) { return FoldFacts(g, options.arguments, options.effects); };
  run("fold_facts", fold_facts);
  if (options.claims != nullptr) {
    const bool guarded = run("specialize_profile", [&](Graph& g) {
      return SpecializeProfile(g, options.arguments, options.effects, *options.claims, &report.questions);
    });
    if (guarded) run("fold_facts", fold_facts);
  }
  // Not before: a profile knows values by their ids.
  run("canonical_order", OrderOperands);
  const auto forget_writes = [&](Graph& g) { return ForgetPrivateWrites(g, options.effects); };
  // Rounds of an unrolled loop have FrameStates of their own, but where the loop has none any more.
  run("private_writes", forget_writes);
  // An inner loop's trip count may be known once the outer one's rounds are, a list's length once it is made in one go.
  for (int round = 0; round < kMaxRounds; ++round) {
    bool unrolled = run("unroll_loops", UnrollLoops);
    unrolled |= run("peel_loops", PeelLoops);
    if (unrolled) run("fold_facts", fold_facts);
    run("private_writes", forget_writes);
    bool shorter = run("build_lists", BuildLists);
    shorter |= run("split_tuples", SplitTuples);
    if (shorter) run("fold_facts", fold_facts);
    if (!unrolled && !shorter) break;
  }
  if (Contains(*plan.block(), sym::kFork)) {
    run("dead_code", [&](Graph& g) { return EliminateDeadPlanCode(g, options.effects); });
    run("early_guards", [&](Graph& g) { return MoveGuardsUp(g, options.effects); });
    if (run("move_forks", [&](Graph& g) { return MoveForks(g, options.effects); })) run("fold_facts", fold_facts);
  }
  run("decompose_einsum", [&](Graph& g) { return DecomposeEinsum(g, options.arguments, options.effects); });
  run("hoist_invariants", [&](Graph& g) { return HoistInvariants(g, options.effects); });
  run("simplify_views", [&](Graph& g) { return SimplifyViews(g, options.arguments, options.effects); });
  run("canonical_order", OrderOperands);
  run("common_subexpressions", [&](Graph& g) { return EliminateCommonSubexpressions(g, options.effects); });
  if (run("implied_conditions", SettleImpliedConditions)) run("fold_facts", fold_facts);
  run("dead_code", [&](Graph& g) { return EliminateDeadPlanCode(g, options.effects); });
  run("constant_lists", [&](Graph& g) { return MakeConstantLists(g, options.effects); });
  run("early_guards", [&](Graph& g) { return MoveGuardsUp(g, options.effects); });
  if (options.derived == nullptr || MayRecordGradients(*plan.block())) return report;
  DerivedConstants derived(*options.derived, [&] {
    if (options.begin) options.begin(current);
  });
  run("fold_constant_tensors", [&](Graph& g) { return FoldConstantTensors(g, options.effects, derived); });
  run("fold_batch_norms", [&](Graph& g) { return FoldBatchNorms(g, options.arguments, options.effects, derived); });
  run("make_linears", [&](Graph& g) { return MakeLinears(g, options.arguments, options.effects, derived); });
  run("dead_code", [&](Graph& g) { return EliminateDeadPlanCode(g, options.effects); });
  run("group_linears", [&](Graph& g) { return GroupLinears(g, options.effects, derived); });
  run("pack_linears", [&](Graph& g) { return PackLinears(g, options.arguments, options.effects, derived); });
  // After that, which asks for sizes: of what packed convolutions give, facts say nothing.
  run("pack_convolutions", [&](Graph& g) { return PackConvolutions(g, options.arguments, options.effects, derived); });
  report.lacks_room = derived.lacks_room();
  run("plan_memory", [&](Graph& g) { return PlanMemory(g, options.arguments, options.effects); });
  return report;
}

}  // namespace hearth
