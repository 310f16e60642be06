// All passes, by name. What runs them by name (pipelines.cpp, hearth-opt, tests) reads this table and nothing else.
#pragma once

#include <string_view>

#include "jit/compiler/pass.h"
#include "jit/passes/align_masks.h"
#include "jit/passes/autocast.h"
#include "jit/passes/build_lists.h"
#include "jit/passes/canonical_order.h"
#include "jit/passes/choose_layouts.h"
#include "jit/passes/common_subexpressions.h"
#include "jit/passes/condition_elimination.h"
#include "jit/passes/constant_lists.h"
#include "jit/passes/dead_code.h"
#include "jit/passes/decompose_einsum.h"
#include "jit/passes/decompose_self_attention.h"
#include "jit/passes/direct_products.h"
#include "jit/passes/early_guards.h"
#include "jit/passes/explicit_padding.h"
#include "jit/passes/fill_numbers.h"
#include "jit/passes/flatten_attention.h"
#include "jit/passes/fold_batch_norms.h"
#include "jit/passes/fold_constant_tensors.h"
#include "jit/passes/fold_facts.h"
#include "jit/passes/frame_states.h"
#include "jit/passes/functionalize.h"
#include "jit/passes/functionalize_sizes.h"
#include "jit/passes/fuse.h"
#include "jit/passes/fuse_epilogues.h"
#include "jit/passes/fuse_gpu_convolutions.h"
#include "jit/passes/group_linears.h"
#include "jit/passes/guard_everywhere.h"
#include "jit/passes/join_branches.h"
#include "jit/passes/join_projections.h"
#include "jit/passes/left_products.h"
#include "jit/passes/loop_invariant_code_motion.h"
#include "jit/passes/make_linears.h"
#include "jit/passes/mix_heads.h"
#include "jit/passes/move_forks.h"
#include "jit/passes/number_masks.h"
#include "jit/passes/observe.h"
#include "jit/passes/pack_convolutions.h"
#include "jit/passes/pack_linears.h"
#include "jit/passes/peel_loops.h"
#include "jit/passes/plan_memory.h"
#include "jit/passes/plan_recurrences.h"
#include "jit/passes/prepare_calls.h"
#include "jit/passes/private_writes.h"
#include "jit/passes/recognize_activations.h"
#include "jit/passes/recognize_attention.h"
#include "jit/passes/recognize_shuffles.h"
#include "jit/passes/reinplace.h"
#include "jit/passes/scalar_replacement.h"
#include "jit/passes/scalar_tensors.h"
#include "jit/passes/simplify_views.h"
#include "jit/passes/sink.h"
#include "jit/passes/small_products.h"
#include "jit/passes/specialize.h"
#include "jit/passes/specialize_profile.h"
#include "jit/passes/spell_out.h"
#include "jit/passes/split_reshapes.h"
#include "jit/passes/split_sums.h"
#include "jit/passes/split_tuples.h"
#include "jit/passes/spread_convolutions.h"
#include "jit/passes/unmask_attention.h"
#include "jit/passes/unroll_loops.h"
#include "jit/passes/window_views.h"

namespace hearth {

// In alphabetical order.
inline constexpr Pass kPasses[] = {
    {.name = "align_masks",
     .run = AlignMasks,
     .help = "masks of attention on a GPU have rows as its kernels want them"},
    {.name = "autocast", .run = InsertAutocasts, .help = "casts of torch.autocast regions", .required = true},
    {.name = "build_lists", .run = BuildLists, .help = "lists built by appends become literals"},
    {.name = "canonical_order",
     .run = OrderOperands,
     .help = "one operand order for arithmetic and comparisons of numbers",
     .preserves = {Analysis::kAliases, Analysis::kMemory, Analysis::kPureNodes, Analysis::kPureForks}},
    {.name = "choose_layouts",
     .run = ChooseLayouts,
     .help = "channels-last convolutions, and what may follow in that order"},
    {.name = "common_subexpressions",
     .run = EliminateCommonSubexpressions,
     .help = "removes pure nodes that compute what was computed before"},
    {.name = "condition_elimination",
     .run = EliminateConditions,
     .help = "removes conditions that an earlier guard or branch decided"},
    {.name = "constant_lists", .run = MakeConstantLists, .help = "list literals of constants become constants"},
    {.name = "dead_code", .run = EliminateDeadCode, .help = "removes nodes without users and effects from a baseline"},
    {.name = "dead_plan_code",
     .run = EliminateDeadPlanCode,
     .help = "removes nodes without users that can neither act nor raise from a plan",
     .preserves = {Analysis::kAliases, Analysis::kMemory, Analysis::kPureNodes, Analysis::kFacts}},
    {.name = "decompose_einsum", .run = DecomposeEinsum, .help = "einsum becomes a product of matrices"},
    {.name = "decompose_self_attention",
     .run = DecomposeSelfAttention,
     .help = "torch.nn's attention and encoder layers become what they are made of"},
    {.name = "direct_products",
     .run = DirectProducts,
     .help = "products of batches of matrices go to BLAS as these lie"},
    {.name = "early_guards",
     .run = MoveGuardsUp,
     .help = "moves guards up to where what they check is known",
     .preserves = AnalysisSet::AllButOrder()},
    {.name = "explicit_padding", .run = MakePaddingExplicit, .help = "paddings of convolutions become numbers"},
    {.name = "fill_numbers", .run = FillNumbers, .help = "copies of a tensor of one number become fills"},
    {.name = "flatten_attention",
     .run = FlattenAttention,
     .help = "attention of another rank than 4 is computed in four dimensions"},
    {.name = "fold_batch_norms", .run = FoldBatchNorms, .help = "folds batch norms into the layer before them"},
    {.name = "fold_constant_tensors", .run = FoldConstantTensors, .help = "computes what depends on constants alone"},
    {.name = "fold_facts", .run = FoldFacts, .help = "folds what facts about the arguments decide"},
    {.name = "frame_states",
     .run = InsertFrameStates,
     .help = "makes a plan of a baseline: a copy with the places to leave it from",
     .required = true},
    {.name = "functionalize", .run = Functionalize, .help = "writes in place that nobody else sees become values"},
    {.name = "functionalize_sizes",
     .run = FunctionalizeSizes,
     .help = "sizes that are tensors are not written in place"},
    {.name = "fuse", .run = Fuse, .help = "groups of pointwise operators become kernels"},
    {.name = "fuse_epilogues",
     .run = FuseEpilogues,
     .help = "activations and additions become part of the convolution before them"},
    {.name = "fuse_gpu_convolutions",
     .run = FuseGpuConvolutions,
     .help = "convolutions on a GPU take biases, additions and activations into their kernels"},
    {.name = "group_linears", .run = GroupLinears, .help = "narrow linear layers of one input become one"},
    {.name = "guard_everywhere",
     .run = GuardEverywhere,
     .help = "a guard that holds before each node that a plan may leave at, for tests",
     .required = true},
    {.name = "join_branches", .run = JoinBranches, .help = "convolutions of one input that are added up become one"},
    {.name = "join_projections",
     .run = JoinProjections,
     .help = "queries, keys and values of an attention on a GPU come of one product"},
    {.name = "left_products",
     .run = LeftProducts,
     .help = "linear layers of transposed matrices become products from the left"},
    {.name = "loop_invariant_code_motion", .run = MoveLoopInvariantCode, .help = "loop-invariant code motion"},
    {.name = "make_linears", .run = MakeLinears, .help = "products with constant matrices become linear layers"},
    {.name = "mix_heads",
     .run = MixHeads,
     .help = "layers that mix an attention's heads become products with the scores as these lie"},
    {.name = "move_forks", .run = MoveForks, .help = "starts forks early and waits for them late"},
    {.name = "number_masks", .run = NumberMasks, .help = "masks of several layers on a GPU become numbers once"},
    {.name = "observe",
     .run = InsertObservers,
     .help = "a copy of a baseline that records a profile",
     .required = true},
    {.name = "pack_convolutions",
     .run = PackConvolutions,
     .help = "convolutions become planned calls, their weights packed"},
    {.name = "pack_linears",
     .run = PackLinears,
     .help = "linear layers with their weights in the fastest format and the activation fused"},
    {.name = "peel_loops", .run = PeelLoops, .help = "takes a loop's first round out where it is special"},
    {.name = "plan_memory", .run = PlanMemory, .help = "gives results places in an arena"},
    {.name = "plan_recurrences",
     .run = PlanRecurrences,
     .help = "LSTM and GRU layers become planned calls, their weights packed"},
    {.name = "prepare_calls", .run = PrepareCalls, .help = "makes beforehand what calls of libraries need"},
    {.name = "private_writes",
     .run = ForgetPrivateWrites,
     .help = "removes FrameStates at writes that nobody else can see"},
    {.name = "recognize_activations",
     .run = RecognizeActivations,
     .help = "activations written out of arithmetic become their operator"},
    {.name = "recognize_attention",
     .run = RecognizeAttention,
     .help = "attention written out of products and a softmax becomes one operator"},
    {.name = "recognize_shuffles",
     .run = RecognizeShuffles,
     .help = "channels that views and copies shuffle, and parts of these, become one call"},
    {.name = "reinplace", .run = Reinplace, .help = "operators write their results into operands that die"},
    {.name = "scalar_replacement",
     .run = ReplaceScratchAttributes,
     .help = "scalar replacement of attributes that carry nothing from run to run",
     .required = true},
    {.name = "scalar_tensors", .run = ForwardScalarTensors, .help = "numbers that become tensors and numbers again"},
    {.name = "simplify_views", .run = SimplifyViews, .help = "combines views and removes those that change nothing"},
    {.name = "sink", .run = SinkIntoBranches, .help = "moves nodes into the only branch that uses them"},
    {.name = "small_products",
     .run = SumSmallProducts,
     .help = "products of batches on a GPU that have few terms become sums, also of windows of images"},
    {.name = "specialize", .run = Specialize, .help = "inlines calls, binds self and folds what that decides"},
    {.name = "specialize_profile", .run = SpecializeProfile, .help = "speculates on a profile, behind guards"},
    {.name = "spell_out", .run = SpellOut, .help = "operators without kernels become those that have them"},
    {.name = "split_reshapes", .run = SplitReshapes, .help = "reshapes on a GPU that copy become a copy and a view"},
    {.name = "split_sums", .run = SplitSums, .help = "sums of a few parts become additions"},
    {.name = "split_tuples", .run = SplitTuples, .help = "tuples that control flow carries become their elements"},
    {.name = "spread_convolutions",
     .run = SpreadConvolutions,
     .help = "transposed convolutions become convolutions whose channels are spread over pixels"},
    {.name = "unmask_attention", .run = UnmaskAttention, .help = "attention with a mask that hides nothing has none"},
    {.name = "unroll_loops", .run = UnrollLoops, .help = "unrolls small loops of known trip counts"},
    {.name = "window_views", .run = ViewWindows, .help = "windows of images on a GPU are copied out of a view"},
};

// Null if there is none.
constexpr const Pass* FindPass(std::string_view name) {
  for (const Pass& pass : kPasses) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

// A name that is not in the table does not compile.
class PassName {
 public:
  consteval PassName(const char* name) : pass_(*FindPass(name)) {}  // NOLINT(google-explicit-constructor)
  const Pass& pass() const { return pass_; }

 private:
  const Pass& pass_;
};

}  // namespace hearth
