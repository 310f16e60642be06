#include "jit/passes/build_lists.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxElements = 256;

// What reads a list now and keeps nothing of it but, perhaps, elements.
bool OnlyAsks(const Node& node) {
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  const bool gives_numbers =
      std::ranges::none_of(node.outputs(), [](const Value* output) { return HasMemory(*output->type()); });
  const bool reads = gives_numbers || definition.list == ListRole::kRead || definition.list == ListRole::kTake ||
                     definition.list == ListRole::kCopy || definition.kind == OperatorClass::kJoin;
  return node.kind() == sym::kListUnpack || (reads && node.op() != nullptr && !EffectsOf(node).writes);
}

class ListBuilder {
 public:
  explicit ListBuilder(Graph& graph) : graph_(graph) { Walk(graph.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    positions_.clear();
    std::vector<Node*> lists, copies;
    for (Node* node : *block) {
      if (node->kind() == sym::kListConstruct) lists.push_back(node);
      if (IsCopyOfConstant(*node)) copies.push_back(node);
    }
    for (Node* copy : copies) lists.push_back(Literal(copy));
    for (Node* list : lists) TryBuild(list);
    for (Node* node : *block) {
      for (Block* inner : node->blocks()) Walk(inner);
    }
  }

  static bool IsCopyOfConstant(const Node& node) {
    if (node.kind() != c10::aten::copy && node.kind() != c10::aten::list) return false;
    const c10::IValue* const list = node.inputs().size() == 1 ? ConstantOf(*node.input(0)) : nullptr;
    return list != nullptr && list->isList() && list->toListRef().size() <= kMaxElements &&
           !HasMemory(*list->toList().elementType());
  }

  // In the place of a copy, which goes.
  Node* Literal(Node* copy) {
    const InsertionGuard at(&graph_, copy);
    graph_.SetCurrentRange(copy->range());
    const c10::List<c10::IValue> list = ConstantOf(*copy->input(0))->toList();
    std::vector<Value*> elements;
    for (const c10::IValue& element : list.vec())
      elements.push_back(graph_.InsertConstant(element, list.elementType()));
    Node* literal = graph_.Insert(ListLike(*copy->output(), elements, *copy));
    copy->output()->ReplaceAllUsesWith(literal->output());
    copy->Destroy();
    changed_ = true;
    return literal;
  }

  // Not yet in a block: with the type and name of another list, as code that stands where `place` does.
  Node* ListLike(const Value& list, std::span<Value* const> elements, const Node& place) {
    Node* made = graph_.Create(sym::kListConstruct, elements, 1);
    made->output()->SetType(list.type());
    made->output()->SetName(list.name());
    made->SetRange(place.range());
    made->SetInlinedCall(place.inlined_call());
    return made;
  }

  // The node of `block` itself that holds `node`, or is it.
  static Node* AncestorIn(const Block* block, Node* node) {
    while (node->block() != block) node = node->block()->owner();
    return node;
  }

  // By node: where it stands in its block.
  void Number(const Block& block) {
    positions_.clear();
    for (const Node* node : block) positions_.emplace(node, positions_.size());
    positions_.emplace(block.return_node(), positions_.size());
  }

  void TryBuild(Node* list) {
    const Block* block = list->block();
    std::vector<Node*> changes;
    for (const Use& use : list->output()->uses()) {
      if (!Changes(use)) continue;
      // What may be a place to go on from, or is seen in part, or happens in some runs only, is left alone.
      const Node& change = *use.user;
      if (change.block() != block || change.prev()->kind() == sym::kFrameState) return;
      if (change.kind() != c10::aten::pop && change.output()->HasUses()) return;
      changes.push_back(use.user);
    }
    if (changes.empty() || list->inputs().size() + changes.size() > kMaxElements) return;
    if (positions_.count(list) == 0) Number(*block);
    const auto position = [&](const Node* node) { return positions_.at(node); };
    std::ranges::sort(changes, {}, position);
    const size_t complete = position(changes.back());
    for (const Use& use : list->output()->uses()) {
      const Node* at = AncestorIn(block, use.user);
      if (!Changes(use) && position(at) < complete && !(OnlyAsks(*use.user) && !InClosure(*use.user, *block))) return;
    }
    if (AllFindPlaces(*list, changes)) Build(list, changes);
  }

  static bool IsAppend(const Node& node) { return node.kind() == c10::aten::append; }
  // Whether the user appends to the list, pops from it or sets an element.
  static bool Changes(const Use& use) {
    const Symbol kind = use.user->kind();
    return use.offset == 0 && (kind == c10::aten::append || kind == c10::aten::pop || kind == c10::aten::_set_item);
  }

  // Which of `count` elements is popped or set; nothing if that is not known, or is none of them.
  static std::optional<size_t> PlaceOf(const Node& change, size_t count) {
    const auto index = change.inputs().size() >= 2 ? IntegerOf(*change.input(1)) : std::nullopt;
    if (!index) return {};
    const int64_t place = *index < 0 ? *index + static_cast<int64_t>(count) : *index;
    return place >= 0 && place < static_cast<int64_t>(count) ? std::optional(static_cast<size_t>(place)) : std::nullopt;
  }

  static bool AllFindPlaces(const Node& list, const std::vector<Node*>& changes) {
    size_t count = list.inputs().size();
    for (const Node* change : changes) {
      if (IsAppend(*change)) {
        ++count;
      } else if (!PlaceOf(*change, count)) {
        return false;
      } else if (change->kind() == c10::aten::pop) {
        --count;
      }
    }
    return true;
  }

  static bool InClosure(const Node& node, const Block& within) {
    for (const Block* block = node.block(); block != &within; block = block->owner()->block()) {
      if (IsClosure(*block->owner())) return true;
    }
    return false;
  }

  void Build(Node* list, const std::vector<Node*>& changes) {
    const Block* block = list->block();
    std::vector<Value*> elements(list->inputs().begin(), list->inputs().end());
    // Questions between two changes, by the change that follows.
    std::vector<std::vector<Use>> questions(changes.size() + 1);
    for (const Use& use : list->output()->uses()) {
      if (Changes(use)) continue;
      const size_t at = positions_.at(AncestorIn(block, use.user));
      const auto next = std::ranges::upper_bound(changes, at, {}, [&](Node* change) { return positions_.at(change); });
      questions[static_cast<size_t>(next - changes.begin())].push_back(use);
    }
    Node* place = list;
    for (size_t i = 0; i <= changes.size(); ++i) {
      if (!questions[i].empty()) {
        Node* so_far = ListLike(*list->output(), elements, *place)->InsertAfter(place);
        positions_.emplace(so_far, positions_.at(place));
        for (const Use& use : questions[i]) use.user->ReplaceInput(use.offset, so_far->output());
      }
      if (i == changes.size()) break;
      place = changes[i];
      if (IsAppend(*place)) {
        elements.push_back(place->input(1));
        continue;
      }
      const auto element = elements.begin() + static_cast<ptrdiff_t>(*PlaceOf(*place, elements.size()));
      if (place->kind() == c10::aten::_set_item) {
        *element = place->input(2);
      } else {
        place->output()->ReplaceAllUsesWith(*element);
        elements.erase(element);
      }
    }
    for (Node* change : changes) change->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  std::unordered_map<const Node*, size_t> positions_;  // in the block at hand
  bool changed_ = false;
};

}  // namespace

bool BuildLists(Compilation& compilation) { return ListBuilder(compilation.graph()).changed(); }

}  // namespace hearth
