#include "jit/passes/build_lists.h"

#include <cstdint>
#include <optional>
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
  const bool reads = definition.list == ListRole::kRead || definition.list == ListRole::kTake ||
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
    std::vector<Node*> lists;
    for (Node* node : *block) {
      if (node->kind() == sym::kListConstruct) lists.push_back(node);
    }
    for (Node* list : lists) TryBuild(list);
    for (Node* node : *block) {
      for (Block* inner : node->blocks()) Walk(inner);
    }
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
      if (IsAppend(change) && change.output()->HasUses()) return;
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
    if (AllPopsFind(*list, changes)) Build(list, changes);
  }

  static bool IsAppend(const Node& node) { return node.kind() == c10::aten::append; }
  // Whether the user appends to the list, or pops from it.
  static bool Changes(const Use& use) {
    return (IsAppend(*use.user) || use.user->kind() == c10::aten::pop) && use.offset == 0;
  }

  // Which of `count` elements a pop takes; nothing if that is not known, or is none of them.
  static std::optional<size_t> PlaceOf(const Node& pop, size_t count) {
    const auto index = pop.inputs().size() == 2 ? IntegerOf(*pop.input(1)) : std::nullopt;
    if (!index) return {};
    const int64_t place = *index < 0 ? *index + static_cast<int64_t>(count) : *index;
    return place >= 0 && place < static_cast<int64_t>(count) ? std::optional(static_cast<size_t>(place)) : std::nullopt;
  }

  static bool AllPopsFind(const Node& list, const std::vector<Node*>& changes) {
    size_t count = list.inputs().size();
    for (const Node* change : changes) {
      if (IsAppend(*change)) {
        ++count;
      } else if (!PlaceOf(*change, count--)) {
        return false;
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
        Node* so_far = graph_.Create(sym::kListConstruct, std::span<Value* const>(elements), 1);
        so_far->output()->SetType(list->output()->type());
        so_far->output()->SetName(list->output()->name());
        so_far->SetRange(place->range());
        so_far->SetInlinedCall(place->inlined_call());
        so_far->InsertAfter(place);
        positions_.emplace(so_far, positions_.at(place));
        for (const Use& use : questions[i]) use.user->ReplaceInput(use.offset, so_far->output());
      }
      if (i == changes.size()) break;
      place = changes[i];
      if (IsAppend(*place)) {
        elements.push_back(place->input(1));
      } else {
        const auto popped = elements.begin() + static_cast<ptrdiff_t>(*PlaceOf(*place, elements.size()));
        place->output()->ReplaceAllUsesWith(*popped);
        elements.erase(popped);
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
