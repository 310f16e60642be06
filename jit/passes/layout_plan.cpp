#include "jit/passes/layout_plan.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "jit/analysis/private_memory.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/definitions/value_facts.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

const Symbol kIsContiguous = Symbol::fromQualString("aten::is_contiguous");

spdlog::logger& LayoutLog() {
  static spdlog::logger& log = LoggerOf("passes/choose_layouts");
  return log;
}

// The weight in the format that makes its convolution give channels-last results; of one channel and one pixel there is
// none.
bool HasChannelsLastForm(const at::Tensor& weight) { return c10::multiply_integers(weight.sizes().slice(1)) > 1; }

// Whether it is known how the dimensions are nested in memory; of a list: of all of its elements.
bool IsOrderKnown(const ValueFacts& facts) {
  if (facts.is_tensor()) return facts.nested().is_known();
  return facts.kind == ValueFacts::Kind::kList && !facts.elements.empty() &&
         std::ranges::all_of(facts.elements, IsOrderKnown);
}

// Walks the graph with an opinion of which convolutions change, and finds out what else does.
class LayoutPlanner {
 public:
  LayoutPlanner(Compilation& compilation, const PrivateMemory& memory, const std::set<const Node*>& excluded)
      : target_(compilation.target()), facts_(compilation.facts()), memory_(memory), excluded_(excluded) {
    Walk(*compilation.source().block());
  }

  LayoutChanges TakeChanges() { return std::move(changes_); }
  std::set<const Node*> TakeRegretted() { return std::move(regretted_); }

 private:
  struct Changed {
    ValueFacts facts;
    std::set<const Node*> origins;  // the convolutions that it comes from
  };

  // The facts of a value in the plan, if they are others than in the baseline.
  const ValueFacts* ChangedFacts(const Value& value) const {
    const auto found = changed_.find(&value);
    return found == changed_.end() ? nullptr : &found->second.facts;
  }

  // Whether a value that lies in another order can be given as the baseline has it.
  bool CanRestore(const Value& value) const {
    const StrideOrder& before = facts_.Of(value).order;
    if (IsRearrangement(*value.node())) return CanRestore(*value.node()->input(0));
    return before.is_exact() && (before.is_default() || before.has_channels_last());
  }

  bool CanRestoreOperands(const Node& node) const {
    return std::ranges::all_of(node.inputs(),
                               [this](const Value* input) { return changed_.count(input) == 0 || CanRestore(*input); });
  }

  const ValueFacts& FactsOf(const Value& value) const {
    const ValueFacts* changed = ChangedFacts(value);
    return changed != nullptr ? *changed : facts_.Of(value);
  }

  void Walk(const Block& block) {
    for (Node* node : block) Visit(node);
    Pin(block.return_node());
  }

  void Visit(Node* node) {
    if (TryConvolution(node) || TrySequences(node) || TryNorm(node) || TryCopy(node) || TryReshape(node)) return;
    if (AnyChanged(*node) && !TryFollow(node)) Pin(node);
    if (IsClosure(*node)) return;
    for (const Block* nested : node->blocks()) Walk(*nested);
  }

  bool AnyChanged(const Node& node) const {
    return std::ranges::any_of(node.inputs(), [&](const Value* input) { return changed_.count(input) != 0; });
  }

  bool TryConvolution(Node* node) {
    const std::optional<ConvolutionCall> call = ConvolutionCall::OfImagesOrVolumes(*node);
    if (!call || excluded_.count(node) != 0 || !HasChannelsLastForm(call->weight)) return false;
    if (!IsFasterChannelsLast(*call)) return false;
    const ValueFacts& images = FactsOf(*node->input(0));
    const bool suits = images.is_tensor() && images.plain && images.rank() == call->weight.sizes().size() &&
                       images.dtype == call->weight.scalar_type() && images.device == call->weight.device();
    if (!suits || memory_.IsShared(*node->output()) || IsSmallProduct(*call, images)) return false;
    if (!facts_.Of(*node->output()).order.is_known()) {
      if (!MayHaveAnyOrder(*node->output())) return false;
      changes_.convolutions.push_back(node);
      return true;
    }
    const auto channels_last = call->is_of_volumes() ? StrideOrder::ChannelsLast3d : StrideOrder::ChannelsLast;
    ValueFacts weight = facts_.Of(*node->input(1));
    weight.order = channels_last(true);
    weight.suggested_format = ChannelsLastFormatOf(*call);
    std::vector<ValueFacts> given = Infer(*node, [&](const Value& value) -> const ValueFacts& {
      return &value == node->input(1) ? weight : FactsOf(value);
    });
    // Where LibTorch may give it in another order, it is put into this one.
    if (!given[0].order.has_channels_last()) {
      given[0].order = channels_last(IsToldFromDefault(*given[0].sizes));
      changes_.to_arrange.push_back(node);
    }
    changes_.convolutions.push_back(node);
    changed_[node->output()] = {std::move(given[0]), {node}};
    return true;
  }

  // Of a value whose order in the baseline is not known: whether nobody can tell it.
  bool MayHaveAnyOrder(const Value& value) const {
    if (!OrderMayShow(value, facts_)) return true;
    LayoutLog().debug("the order of %{} is not known, and somebody may see it", value.name());
    return false;
  }

  // Whether new memory for images or volumes is never in the default order and channels-last at once.
  bool IsToldFromDefault(const KnownSizes& sizes) const {
    const auto has_several = [&](KnownSize size) { return facts_.sizes().IsAtLeast(size, 2); };
    return has_several(sizes[1]) && std::ranges::any_of(sizes | std::views::drop(2), has_several);
  }

  // On a GPU, and with several groups, LibTorch has as good code for volumes in the default order.
  bool IsFasterChannelsLast(const ConvolutionCall& call) const {
    const c10::Device device = call.weight.device();
    const at::ScalarType dtype = call.weight.scalar_type();
    if (call.is_of_volumes()) return call.groups == 1 && target_.PacksWeights(device, dtype);
    return target_.PrefersChannelsLast(device, dtype);
  }

  // What images of one row give lies channels-last, whatever their order, and so does the view without the row.
  bool TrySequences(Node* node) {
    const std::optional<ConvolutionCall> call = ConvolutionCall::OfSequences(*node);
    if (!call || excluded_.count(node) != 0 || !HasChannelsLastForm(call->weight)) return false;
    const c10::Device device = call->weight.device();
    const at::ScalarType dtype = call->weight.scalar_type();
    if (!target_.PacksWeights(device, dtype) && !target_.FusesConvolutions(device, dtype)) return false;
    const ValueFacts& sequences = FactsOf(*node->input(0));
    const bool suits = sequences.is_tensor() && sequences.plain && sequences.rank() == 3u && sequences.dtype == dtype &&
                       sequences.device == device;
    if (!suits || memory_.IsShared(*node->output())) return false;
    if (!facts_.Of(*node->output()).order.is_known()) {
      if (!target_.FusesConvolutions(device, dtype) || !MayHaveAnyOrder(*node->output())) return false;
      changes_.sequences.push_back(node);
      return true;
    }
    ValueFacts given = facts_.Of(*node->output());
    // Of what may have one step, operators with several operands would give an order that is not known.
    const bool has_steps = given.sizes && facts_.sizes().IsAtLeast(given.sizes->back(), 2);
    if (!has_steps && !MeetsNoOtherTensor(*node->output())) return false;
    given.order = StrideOrder::ChannelsLast(true).Removed(2, 4);
    changes_.sequences.push_back(node);
    changed_[node->output()] = {std::move(given), {node}};
    return true;
  }

  // Whether all that becomes of sequences, operator by operator with no other tensor, is read by convolutions or
  // products, or is computed along a dimension or given back at last.
  bool MeetsNoOtherTensor(const Value& sequences) const {
    return std::ranges::all_of(sequences.uses(), [&](const Use& use) {
      const Node& user = *use.user;
      if (ReadsShapeOnly(user.kind()) || user.kind() == sym::kReturn) return true;
      const OperatorClass kind = DefinitionOf(user.kind()).kind;
      if (ConvolutionCall::OfSequences(user) || kind == OperatorClass::kProduct) return use.offset == 0;
      const auto tensors = std::ranges::count_if(
          user.inputs(), [](const Value* input) { return input->type()->kind() == c10::TypeKind::TensorType; });
      if (tensors != 1 || user.outputs().size() != 1) return false;
      if (kind == OperatorClass::kNormalization) return true;
      return (kind == OperatorClass::kPointwise || kind == OperatorClass::kView) && MeetsNoOtherTensor(*user.output());
    });
  }

  // LibTorch puts sequences into the default order first, and images not.
  bool TryNorm(Node* node) {
    if (node->kind() != c10::aten::group_norm || changed_.count(node->input(0)) == 0) return false;
    const ValueFacts& sequences = FactsOf(*node->input(0));
    const StrideOrder of_rows = StrideOrder::ChannelsLast(true).Removed(2, 4);
    const bool suits = sequences.is_tensor() && sequences.plain && sequences.rank() == 3u && sequences.device &&
                       sequences.device->is_cpu() && sequences.order == of_rows &&
                       facts_.sizes().IsAtLeast((*sequences.sizes)[0], 1) &&
                       facts_.sizes().IsAtLeast((*sequences.sizes)[1], 2) &&
                       facts_.sizes().IsAtLeast((*sequences.sizes)[2], 2);
    if (!suits || !facts_.Of(*node->output()).order.is_known() || memory_.IsShared(*node->output())) return false;
    ValueFacts given = facts_.Of(*node->output());
    given.order = of_rows;
    changes_.norms.push_back(node);
    changed_[node->output()] = {std::move(given), Origins(*node)};
    return true;
  }

  // Of images whose channels lie one after the other, which a model makes of pixels' channels and puts into the default
  // order: whoever reads them goes on in theirs, and if they have to be copied, then channels-last.
  bool TryCopy(Node* node) {
    if (node->kind() != c10::aten::contiguous || excluded_.count(node) != 0) return false;
    const ValueFacts& images = FactsOf(*node->input(0));
    if (!images.plain || images.rank() != 4u || !images.device || !images.dtype) return false;
    if (!target_.PrefersChannelsLast(*images.device, *images.dtype) || !HasChannelsInside(images)) return false;
    // Who writes to a copy would write to these.
    if (!facts_.Of(*node->output()).order.is_default_exactly() || facts_.memory().MayBeWritten(*node->output()))
      return false;
    changes_.copies.push_back(node);
    std::set<const Node*> origins = Origins(*node);
    origins.insert(node);
    ValueFacts given = facts_.Of(*node->output());
    // Images that are channels-last already stay what they are, also with an odd stride of a single image.
    const PartOrder nested = images.nested();
    const bool may_be_odd = std::ranges::any_of(nested.levels(), [&](const PartOrder::Level& level) {
      return level.has_gap && !facts_.sizes().IsAtLeast((*images.sizes)[level.dimension], 2);
    });
    given.order = StrideOrder::ChannelsLast(nested.is_exact() && !may_be_odd);
    given.suggested_format = at::MemoryFormat::ChannelsLast;
    changed_[node->output()] = {std::move(given), std::move(origins)};
    return true;
  }

  // Images for a convolution, of what has its channels within what become the pixels, as an attention gives the results
  // of its heads: instead of being copied into the default order, number by number, they are made channels-last.
  bool TryReshape(Node* node) {
    if (node->kind() != c10::aten::reshape || excluded_.count(node) != 0) return false;
    const ValueFacts &parts = FactsOf(*node->input(0)), &images = facts_.Of(*node->output());
    if (!parts.plain || !parts.rank() || !parts.device || !parts.dtype || images.rank() != 4u) return false;
    if (!target_.PrefersChannelsLast(*parts.device, *parts.dtype) || !LeadsToConvolution(*node->output(), 0))
      return false;
    // Who writes to a copy would write to these.
    if (!images.order.is_default_exactly() || facts_.memory().MayBeWritten(*node->output())) return false;
    std::optional<LayoutChanges::Reshape> change = ReshapeToChannelsLast(node, parts, *images.sizes);
    if (!change) return false;
    changes_.reshapes.push_back(std::move(*change));
    std::set<const Node*> origins = Origins(*node);
    origins.insert(node);
    const PartOrder nested = parts.nested();
    const bool has_gaps =
        std::ranges::any_of(nested.levels(), [](const PartOrder::Level& level) { return level.has_gap; });
    ValueFacts given = images;
    given.order = StrideOrder::ChannelsLast(nested.is_exact() && !has_gaps);
    given.suggested_format = at::MemoryFormat::ChannelsLast;
    changed_[node->output()] = {std::move(given), std::move(origins)};
    return true;
  }

  // Nothing where sizes are not known, or the innermost dimension in memory is no channel's.
  std::optional<LayoutChanges::Reshape> ReshapeToChannelsLast(Node* node, const ValueFacts& parts,
                                                              const KnownSizes& images) {
    const KnownSizes& sizes = *parts.sizes;
    const auto are_known = [](const KnownSizes& all) { return std::ranges::all_of(all, &KnownSize::has_value); };
    if (!are_known(sizes) || !are_known(images) || sizes.size() < 4 || sizes[0] != images[0]) return {};
    if (std::ranges::any_of(images | std::views::drop(1), [](const KnownSize& size) { return *size < 2; })) return {};
    // The first dimensions are the channels.
    size_t first_of_pixels = 1;
    int64_t channels = 1;
    while (first_of_pixels < sizes.size() && channels < *images[1]) channels *= *sizes[first_of_pixels++];
    if (channels != *images[1] || first_of_pixels == sizes.size()) return {};
    const PartOrder nested = parts.nested();
    if (!nested.is_known()) return {};
    const PartOrder::Level& innermost = nested.levels().back();
    const bool is_channel = innermost.dimension > 0 && innermost.dimension < first_of_pixels;
    if (!is_channel || innermost.has_gap || *sizes[innermost.dimension] < 2) return {};
    LayoutChanges::Reshape change{node, {0}, {*images[0], *images[2], *images[3], *images[1]}};
    for (size_t i = first_of_pixels; i < sizes.size(); ++i) change.order.push_back(static_cast<int64_t>(i));
    for (size_t i = 1; i < first_of_pixels; ++i) change.order.push_back(static_cast<int64_t>(i));
    return change;
  }

  // Whether a convolution reads it, or what a few operators make of it.
  bool LeadsToConvolution(const Value& images, int depth) const {
    constexpr int kMostOperators = 4;
    return std::ranges::any_of(images.uses(), [&](const Use& use) {
      const Node& user = *use.user;
      if (ConvolutionCall::Of(user)) return use.offset == 0;
      return depth < kMostOperators && user.outputs().size() == 1 && facts_.Of(*user.output()).rank() == 4u &&
             LeadsToConvolution(*user.output(), depth + 1);
    });
  }

  // Whether the channels, several, lie within the pixels, several, without a gap.
  bool HasChannelsInside(const ValueFacts& images) const {
    const PartOrder nested = images.nested();
    if (!nested.is_known() || nested.levels().back().dimension != 1 || nested.levels().back().has_gap) return false;
    const auto has_several = [&](size_t dim) { return facts_.sizes().IsAtLeast((*images.sizes)[dim], 2); };
    const bool has_all = facts_.sizes().IsAtLeast((*images.sizes)[0], 1);
    return has_all && has_several(1) && has_several(2) && has_several(3);
  }

  // Of one pixel each, for which LibTorch has a shorter way; the format is a matter of strides alone.
  static bool IsSmallProduct(const ConvolutionCall& call, const ValueFacts& images) {
    const auto is_one = [](KnownSize size) { return size == 1; };
    return c10::multiply_integers(call.weight.sizes().slice(2)) == 1 &&
           std::ranges::all_of(*images.sizes | std::views::drop(2), is_one);
  }

  std::vector<ValueFacts> Infer(const Node& node, const std::function<const ValueFacts&(const Value&)>& facts_of) {
    std::vector<ValueFacts> given(node.outputs().size());
    InferOperator(node, facts_of, facts_.sizes(), given);
    return given;
  }

  // Whether the node may have its changed operands as they are.
  bool TryFollow(Node* node) {
    if (ReadsShapeOnly(node->kind())) return node->kind() != kIsContiguous;
    if (node->kind() == sym::kListConstruct) return TryFollowList(node);
    if (node->kind() == sym::kListUnpack) return TryFollowElements(node);
    if (node->op() == nullptr || !HasFactRule(*node)) return false;
    const NodeEffects effects = EffectsOf(*node);
    if (effects.any() && !(memory_.IsPrivateWrite(*node) && !effects.random && !effects.acts)) return false;
    std::vector<ValueFacts> given =
        Infer(*node, [&](const Value& value) -> const ValueFacts& { return FactsOf(value); });
    const bool may_raise = DefinitionOf(node->kind()).only_views;
    bool are_known = true;
    for (size_t i = 0; i < given.size(); ++i) {
      const Value& output = *node->output(i);
      if (!HasMemory(*output.type()) || (may_raise && !given[i].order.is_known())) return false;
      const bool was_known = IsOrderKnown(facts_.Of(output)), is_known = IsOrderKnown(given[i]);
      // Of what has no order, no kernel can be made.
      if (was_known && !is_known && CanRestoreOperands(*node)) return false;
      are_known &= was_known && is_known;
      if (memory_.IsShared(output) && !memory_.IsPrivateWrite(*node)) return false;
    }
    // Where orders are not known, they may be any, if nobody can tell.
    if (!are_known && OrderMayShowBehind(*node, facts_)) return false;
    for (size_t i = 0; i < given.size(); ++i) {
      const ValueFacts& before = facts_.Of(*node->output(i));
      if (before.order.is_exact() && given[i].order == before.order) continue;
      changed_[node->output(i)] = {std::move(given[i]), Origins(*node)};
    }
    return true;
  }

  bool TryFollowElements(Node* node) {
    const Changed& list = changed_.at(node->input());
    if (list.facts.elements.size() != node->outputs().size()) return false;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      changed_[node->output(i)] = {list.facts.elements[i], list.origins};
    }
    return true;
  }

  // A list goes on as its elements are if what alone takes it does.
  bool TryFollowList(Node* node) {
    const Value& list = *node->output();
    if (list.uses().size() != 1 || memory_.IsShared(list)) return false;
    Node* user = list.uses().front().user;
    if (user->block() != node->block() || user->op() == nullptr) return false;
    ValueFacts facts = facts_.Of(list);
    if (facts.elements.size() != node->inputs().size()) return false;
    for (size_t i = 0; i < facts.elements.size(); ++i) facts.elements[i] = FactsOf(*node->input(i));
    changed_[&list] = {std::move(facts), Origins(*node)};
    if (TryFollow(user)) return true;
    changed_.erase(&list);
    return false;
  }

  std::set<const Node*> Origins(const Node& node) const {
    std::set<const Node*> origins;
    for (const Value* input : node.inputs()) {
      if (const auto found = changed_.find(input); found != changed_.end()) {
        origins.insert(found->second.origins.begin(), found->second.origins.end());
      }
    }
    return origins;
  }

  // The node gets its operands as the baseline has them.
  void Pin(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value& input = *node->input(i);
      const auto found = changed_.find(&input);
      if (found == changed_.end()) continue;
      if (!CanRestore(input)) {
        LayoutLog().debug("%{} of {} is seen by {}, and its order in the baseline is not known exactly", input.name(),
                          input.node()->kind().toQualString(), node->kind().toQualString());
        regretted_.insert(found->second.origins.begin(), found->second.origins.end());
      }
      changes_.pins.push_back({node, i});
    }
  }

  const Target& target_;
  ValueFactTable& facts_;
  const PrivateMemory& memory_;
  const std::set<const Node*>& excluded_;
  std::map<const Value*, Changed> changed_;
  std::set<const Node*> regretted_;
  LayoutChanges changes_;
};

}  // namespace

LayoutPlan PlanLayouts(Compilation& compilation, const PrivateMemory& memory, const std::set<const Node*>& excluded) {
  LayoutPlanner planner(compilation, memory, excluded);
  return {planner.TakeChanges(), planner.TakeRegretted()};
}

at::MemoryFormat ChannelsLastFormatOf(const ConvolutionCall& call) {
  return call.is_of_volumes() ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

bool IsRearrangement(const Node& node) {
  return node.kind() == c10::aten::permute || node.kind() == c10::aten::transpose || node.kind() == c10::aten::slice ||
         node.kind() == c10::aten::select || node.kind() == c10::aten::narrow;
}

}  // namespace hearth
