#include "jit/passes/pipelines.h"

#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/passes/pass_table.h"
#include "jit/passes/scalar_replacement.h"

namespace hearth {
namespace {

constexpr int kMaxRounds = 4;

// Computes from weights, for graphs that record no gradients.
void OptimizeWeights(Compilation& plan) {
  const auto run = [&](PassName name) { return plan.Run(name.pass()); };
  // Numbers that a trace takes out of tensors are known once these are, and then what is made of such sizes.
  for (int round = 0; round < kMaxRounds && run("fold_constant_tensors") && run("fold_facts"); ++round) {
  }
  run("simplify_views");
  run("unmask_attention");
  run("number_masks");
  run("fold_batch_norms");
  if (run("join_branches")) run("fold_batch_norms");
  run("recognize_activations");
  run("spell_out");
  run("recognize_shuffles");
  bool has_constants = run("recognize_attention");  // in biases that it adds up
  has_constants |= run("align_masks");
  if (has_constants) run("fold_constant_tensors");
  run("make_linears");
  bool has_views = run("small_products");
  run("dead_plan_code");
  has_views |= run("window_views");
  if (has_views) run("simplify_views");
  // The second of an attention's layers is given what the first one's is made of.
  for (int round = 0; round < kMaxRounds && run("mix_heads"); ++round) {
  }
  run("plan_recurrences");
  run("group_linears");
  run("join_projections");
  run("flatten_attention");
  run("split_sums");
  run("spread_convolutions");
  run("choose_layouts");
  run("fuse_gpu_convolutions");
  // Layers one after another, whose results are transposed once the one before is such a product.
  for (int round = 0; round < kMaxRounds && run("left_products"); ++round) {
  }
  run("pack_convolutions");
  run("pack_linears");
  run("direct_products");
  run("fuse_epilogues");
  run("prepare_calls");
  // Weights on the way to those that are packed now, and as large.
  run("dead_plan_code");
  plan.report().lacks_room = plan.weights()->lacks_room();
}

}  // namespace

void BuildBaseline(Compilation& method) {
  const auto run = [&](PassName name) { method.Run(name.pass()); };
  run("specialize");
  run("autocast");
  run("functionalize_sizes");
  run("scalar_tensors");
  run("dead_code");
  run("constant_lists");
  run("sink");
}

// Then prim::StateStep nodes are put where runs take up and give back the parts of the state that are left
// (state_order/state_plan.h).
void BuildState(std::span<Graph* const> baselines, const c10::ivalue::Object& self, const UnitEffects& effects) {
  ReplaceScratchAttributes(baselines, self, effects);
}

void BuildObserved(Compilation& baseline) { baseline.Run(PassName("observe").pass()); }

void BuildPlan(Compilation& baseline) { baseline.Run(PassName("frame_states").pass()); }

void BuildValues(Compilation& baseline) {
  const auto run = [&](PassName name) { return baseline.Run(name.pass()); };
  run("fold_facts");
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = run("unroll_loops");
    changed |= run("build_lists");
    changed |= run("split_tuples");
    if (!changed) break;
    run("fold_facts");
  }
  run("functionalize");
  if (run("explicit_padding")) run("fold_facts");
  run("dead_plan_code");
}

void OptimizePlan(Compilation& plan) {
  const auto run = [&](PassName name) { return plan.Run(name.pass()); };
  const bool records_gradients = MayRecordGradients(*plan.source().block());
  // Twice: what goes with a branch that is not taken may have been all that writes to a list.
  if (run("fold_facts")) run("fold_facts");
  if (plan.claims() != nullptr && run("specialize_profile")) run("fold_facts");
  // Not before: a profile knows values by their ids.
  run("canonical_order");
  if (run("explicit_padding")) run("fold_facts");
  // Rounds of an unrolled loop have FrameStates of their own, but where the loop has none any more.
  run("private_writes");
  // An inner loop's trip count may be known once the outer one's rounds are, a list's length once it is made in one go.
  for (int round = 0; round < kMaxRounds; ++round) {
    bool unrolled = run("unroll_loops");
    unrolled |= run("peel_loops");
    if (unrolled) run("fold_facts");
    run("private_writes");
    bool shorter = run("build_lists");
    shorter |= run("split_tuples");
    if (shorter) run("fold_facts");
    if (!unrolled && !shorter) break;
  }
  if (Contains(*plan.source().block(), sym::kFork)) {
    run("dead_plan_code");
    run("early_guards");
    if (run("move_forks")) run("fold_facts");
  }
  run("functionalize");
  run("fill_numbers");
  run("decompose_einsum");
  run("dead_plan_code");
  if (!records_gradients) run("decompose_self_attention");
  run("loop_invariant_code_motion");
  run("simplify_views");
  run("canonical_order");
  run("common_subexpressions");
  if (run("condition_elimination")) run("fold_facts");
  run("dead_plan_code");
  run("constant_lists");
  run("early_guards");
  if (!records_gradients) {
    if (plan.weights() != nullptr) OptimizeWeights(plan);
    run("split_reshapes");
    run("fuse");
    run("reinplace");
    // What it makes is of the interpreter and not of the language.
    run("plan_memory");
  }
  if (plan.inputs().guard_everywhere) run("guard_everywhere");
}

}  // namespace hearth
