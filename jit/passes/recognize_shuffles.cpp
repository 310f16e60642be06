#include "jit/passes/recognize_shuffles.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "jit/analysis/joined_list.h"
#include "jit/analysis/number_of.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/swapped_dimensions.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/views.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// The only user of what the node gives.
Node* OnlyUser(const Value& value) { return value.uses().size() == 1 ? value.uses().front().user : nullptr; }

// Whether it asks for the number of images, of rows or of columns.
bool AsksForCommonSize(const Use& use) {
  if (use.user->kind() != c10::aten::size || use.user->inputs().size() != 2) return false;
  const std::optional<size_t> dimension = Dimension(IntegerOf(*use.user->input(1)), 4);
  return dimension && dimension != 1u;
}

bool IsConcatenationOfChannels(const Node& node) {
  return JoinedList(node) != nullptr && Dimension(IntegerOf(*node.input(1)), 4) == 1u;
}

struct Shuffle {
  Value* images;
  int64_t groups, channels;
  std::vector<Node*> between;  // the nodes before the one that gives the result, the last one first
};

class ShuffleRecognizer {
 public:
  explicit ShuffleRecognizer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), pure_(compilation.pure_nodes()) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsReshape)) {
      if (const std::optional<Shuffle> shuffle = ShuffleOf(*node)) Replace(node, *shuffle);
    }
    return changed_;
  }

 private:
  bool AreEqual(KnownSize a, KnownSize b) { return facts_.sizes().AreEqual(a, b) == true; }
  bool IsWritten(const Value& value) const { return facts_.memory().MayBeWritten(value); }

  // The node before `node`, if nobody else uses what it gives.
  Node* Before(const Node& node) const {
    Node* before = node.input(0)->node();
    const bool suits = before->op() != nullptr && before->outputs().size() == 1 && before->block() == node.block() &&
                       OnlyUser(*before->output()) == &node && pure_.MayMove(*before) && !IsWritten(*before->output());
    return suits ? before : nullptr;
  }

  std::optional<Shuffle> ShuffleOf(const Node& node) {
    if (!pure_.MayMove(node) || IsWritten(*node.output())) return {};
    Shuffle shuffle;
    Node* before = Before(node);
    if (before != nullptr && before->kind() == c10::aten::contiguous) {
      if (IntegerOf(*before->input(1)) != static_cast<int64_t>(at::MemoryFormat::Contiguous)) return {};
      shuffle.between.push_back(before);
      before = Before(*before);
    } else if (node.kind() == c10::aten::view) {
      return {};
    }
    if (before == nullptr || !SwapsDimensions(*before, 5, 1, 2)) return {};
    shuffle.between.push_back(before);
    before = Before(*before);
    if (before == nullptr || !IsReshape(*before)) return {};
    shuffle.between.push_back(before);
    shuffle.images = before->input(0);
    return FindSizes(*before->output(), *node.output(), &shuffle) ? std::optional(std::move(shuffle)) : std::nullopt;
  }

  bool FindSizes(const Value& grouped, const Value& result, Shuffle* shuffle) {
    const ValueFacts& facts = facts_.Of(*shuffle->images);
    const bool suits = facts.is_tensor() && facts.plain && facts.dtype == c10::kFloat && facts.device &&
                       facts.device->is_cpu() && facts.rank() == 4u && facts.order.is_default_exactly();
    if (!suits || IsWritten(*shuffle->images)) return false;
    if (facts_.Of(grouped).rank() != 5u || facts_.Of(result).rank() != 4u) return false;
    const KnownSizes &whole = *facts.sizes, &parts = *facts_.Of(grouped).sizes, &after = *facts_.Of(result).sizes;
    if (!whole[1] || !parts[1] || !parts[2] || *parts[1] < 2 || *parts[2] < 2) return false;
    if (*parts[1] * *parts[2] != *whole[1]) return false;
    for (size_t i = 0; i < 4; ++i) {
      if (!facts_.sizes().IsAtLeast(whole[i], 1) || !AreEqual(whole[i], after[i])) return false;
      if (i != 1 && !AreEqual(whole[i], parts[i == 0 ? 0 : i + 1])) return false;
    }
    shuffle->groups = *parts[1];
    shuffle->channels = *whole[1];
    return true;
  }

  // The tensors that the channels come from: those of a concatenation that nobody needs then, else the images alone.
  std::vector<Value*> PartsOf(const Shuffle& shuffle) {
    const Node& node = *shuffle.images->node();
    if (!IsConcatenationOfChannels(node) || !pure_.MayMove(node)) return {shuffle.images};
    const auto needs_none = [&](const Use& use) {
      return use.user == shuffle.between.back() || AsksForCommonSize(use);
    };
    if (!std::ranges::all_of(shuffle.images->uses(), needs_none)) return {shuffle.images};
    const auto suits = [&](const Value* part) {
      const ValueFacts& facts = facts_.Of(*part);
      return facts.is_tensor() && facts.plain && facts.rank() == 4u && facts.dtype == c10::kFloat &&
             (*facts.sizes)[1].value_or(0) > 0 && *(*facts.sizes)[1] % (shuffle.channels / shuffle.groups) == 0 &&
             !IsWritten(*part);
    };
    const auto parts = node.input(0)->node()->inputs();
    if (!std::ranges::all_of(parts, suits)) return {shuffle.images};
    return {parts.begin(), parts.end()};
  }

  // Of the result: a node that gives all of its chunks, the same number of channels from every group in each, if nobody
  // else needs the result and nobody asks how a chunk lies in memory.
  Node* ChunksOf(const Value& result, const Shuffle& shuffle) {
    Node* chunk = nullptr;
    for (const Use& use : result.uses()) {
      if (AsksForCommonSize(use)) continue;
      if (chunk != nullptr || use.user->kind() != c10::aten::chunk || use.offset != 0) return nullptr;
      chunk = use.user;
    }
    if (chunk == nullptr || Dimension(IntegerOf(*chunk->input(2)), 4) != 1u || !pure_.MayMove(*chunk)) return nullptr;
    Node* unpack = OnlyUser(*chunk->output());
    if (unpack == nullptr || unpack->kind() != sym::kListUnpack) return nullptr;
    const std::optional<int64_t> count = IntegerOf(*chunk->input(1));
    if (count != static_cast<int64_t>(unpack->outputs().size())) return nullptr;
    if (shuffle.channels % (*count * shuffle.groups) != 0) return nullptr;
    return std::ranges::all_of(unpack->outputs(), [&](const Value* part) { return IsOrderBlind(*part); }) ? unpack
                                                                                                          : nullptr;
  }

  // Whether whoever uses the images looks at the format that they suggest alone, and that is the default one.
  bool IsOrderBlind(const Value& images) {
    if (IsWritten(images) || SuggestedFormat(facts_.sizes(), facts_.Of(images)) != at::MemoryFormat::Contiguous)
      return false;
    return std::ranges::all_of(images.uses(), [&](const Use& use) {
      if (AsksForCommonSize(use)) return true;
      if (use.offset == 0 && ConvolutionCall::Of(*use.user)) return GivesDefaultOrder(*use.user);
      Node* user = use.user->kind() == sym::kListConstruct ? OnlyUser(*use.user->output()) : nullptr;
      if (user == nullptr) return false;
      return user->kind() == sym::kChannelShuffle || (user->kind() == c10::aten::cat && GivesDefaultOrder(*user));
    });
  }
  bool GivesDefaultOrder(const Node& node) const { return facts_.Of(*node.output()).order.is_default_exactly(); }

  void Replace(Node* node, const Shuffle& shuffle) {
    const std::vector<Value*> parts = PartsOf(shuffle);
    Node* unpack = ChunksOf(*node->output(), shuffle);
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    if (unpack == nullptr) {
      Value* shuffled = Insert(parts, shuffle, 0, shuffle.channels, *node);
      if (!IsLike(*shuffled, *node->output())) return Destroy(shuffled->node());
      shuffled->SetName(node->output()->name());
      node->output()->ReplaceAllUsesWith(shuffled);
    } else {
      const auto count = shuffle.channels / static_cast<int64_t>(unpack->outputs().size());
      std::vector<Value*> chunks;
      for (size_t i = 0; i < unpack->outputs().size(); ++i) {
        Value* chunk = Insert(parts, shuffle, static_cast<int64_t>(i) * count, count, *node);
        chunks.push_back(chunk);
        if (!facts_.Of(*chunk).order.is_default_exactly() ||
            SuggestedFormat(facts_.sizes(), facts_.Of(*chunk)) != at::MemoryFormat::Contiguous) {
          for (Value* made : chunks) Destroy(made->node());
          return;
        }
      }
      AskInstead(*node->output(), parts[0]);
      for (size_t i = 0; i < chunks.size(); ++i) {
        chunks[i]->SetName(unpack->output(i)->name());
        unpack->output(i)->ReplaceAllUsesWith(chunks[i]);
      }
      Node* chunk = unpack->input(0)->node();
      unpack->Destroy();
      chunk->Destroy();
    }
    DestroyView(node);
    for (Node* each : shuffle.between) DestroyView(each);
    if (parts[0] != shuffle.images) {
      AskInstead(*shuffle.images, parts[0]);
      Node* list = shuffle.images->node()->input(0)->node();
      shuffle.images->node()->Destroy();
      if (!list->output()->HasUses()) list->Destroy();
    }
    changed_ = true;
  }

  // What a reshape that must copy gives, whose order facts do not tell, lies in the default order, too.
  bool IsLike(const Value& made, const Value& before) const {
    const ValueFacts &a = facts_.Of(made), &b = facts_.Of(before);
    return a.dtype == b.dtype && a.device == b.device && a.order.is_default_exactly() &&
           (b.order == a.order || !b.order.is_known());
  }

  Value* Insert(const std::vector<Value*>& parts, const Shuffle& shuffle, int64_t first, int64_t count,
                const Node& like) {
    Node* list = graph_.Create(sym::kListConstruct, std::span<Value* const>(parts), 1);
    list->output()->SetType(c10::ListType::ofTensors());
    list->SetInlinedCall(like.inlined_call());
    graph_.Insert(list);
    facts_.Infer(*list);
    std::array<Value*, 3> numbers{};
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = graph_.InsertConstant(std::array{shuffle.groups, first, count}[i]);
      facts_.Infer(*numbers[i]->node());
    }
    Value* made =
        Operate(graph_, sym::kChannelShuffle, "", {list->output(), numbers[0], numbers[1], numbers[2]}, &like);
    facts_.Infer(*made->node());
    return made;
  }

  // With the list of sizes that it was asked for, if nobody else needs that.
  static void DestroyView(Node* node) {
    Node* list = node->inputs().size() > 1 ? node->input(1)->node() : nullptr;
    node->Destroy();
    if (list == nullptr || list->kind() != sym::kListConstruct || list->output()->HasUses()) return;
    const std::set<Value*> sizes(list->inputs().begin(), list->inputs().end());
    list->Destroy();
    for (const Value* size : sizes) {
      const bool asks = size->node()->kind() == c10::aten::size && !size->HasUses();
      if (asks && AsksForCommonSize({size->node(), 0})) size->node()->Destroy();
    }
  }

  static void Destroy(Node* made) {
    Node* list = made->input(0)->node();
    made->Destroy();
    list->Destroy();
  }

  // Who asks for sizes of `value` asks for those of `other`, which are the same.
  static void AskInstead(const Value& value, Value* other) {
    for (const Use& use : std::vector<Use>(value.uses())) {
      if (AsksForCommonSize(use)) use.user->ReplaceInput(use.offset, other);
    }
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool RecognizeShuffles(Compilation& compilation) { return ShuffleRecognizer(compilation).Run(); }

}  // namespace hearth
