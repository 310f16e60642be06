#include "jit/passes/early_guards.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "jit/analysis/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/passes/frame_states.h"
#include "jit/passes/pure_nodes.h"

namespace hearth {
namespace {

class Mover {
 public:
  Mover(Graph& plan, const UnitEffects* effects) : pure_(plan, effects) { Walk(*plan.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(const Block& block) {
    Node* begin = block.param_node()->next();
    for (Node* node = begin; node != block.return_node(); node = node->next()) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (!EndsStretch(*node)) continue;
      Schedule(begin, node);
      begin = node->next();
    }
    Schedule(begin, block.return_node());
  }

  static bool EndsStretch(const Node& node) { return node.kind() == sym::kFrameState || ContainsFrameState(node); }

  // The nodes from `begin` up to `end`.
  void Schedule(Node* begin, const Node* end) {
    const std::vector<Node*> early = FindEarly(begin, end);
    if (early.empty()) return;
    std::unordered_set<const Node*> waiting;  // that are to stand further down
    for (const Node* node = begin; node != end; node = node->next()) waiting.insert(node);
    std::vector<Node*> left = early;
    Node* place = begin->prev();
    while (!left.empty()) {
      place = Advance(left, waiting, place);
      if (left.empty()) return;
      // What is next in the old order, and not early.
      place = place->next();
      waiting.erase(place);
      std::erase(left, place);
    }
  }

  // Puts all that may stand behind `place` there; the last of them.
  Node* Advance(std::vector<Node*>& left, std::unordered_set<const Node*>& waiting, Node* place) {
    bool guard_waits = false;
    for (auto at = left.begin(); at != left.end();) {
      Node* node = *at;
      const bool guard = node->kind() == sym::kGuard;
      if (!IsReady(*node, waiting) || (guard_waits && !guard && MayThrow(*node))) {
        guard_waits |= guard;
        ++at;
        continue;
      }
      if (place->next() != node) {
        changed_ |= Passes(place->next(), node);
        node->MoveAfter(place);
      }
      place = node;
      waiting.erase(node);
      at = left.erase(at);
    }
    return place;
  }

  // Whether there is work between the two.
  static bool Passes(const Node* from, const Node* to) {
    for (const Node* node = from; node != to; node = node->next()) {
      if (node->kind() != sym::kConstant) return true;
    }
    return false;
  }

  static bool IsReady(const Node& node, const std::unordered_set<const Node*>& waiting) {
    return std::ranges::none_of(node.inputs(), [&](const Value* input) { return waiting.count(input->node()) != 0; });
  }

  // Guards, and what they ask that is cheap, in order.
  std::vector<Node*> FindEarly(Node* begin, const Node* end) const {
    std::unordered_set<const Node*> asked;
    std::vector<Node*> early;
    bool guards = false;
    if (begin == end) return {};
    for (Node* node = end->prev(); node != begin->prev(); node = node->prev()) {
      const bool guard = node->kind() == sym::kGuard;
      const bool asks = asked.count(node) != 0 && (node->kind() == sym::kConstant || IsCheap(*node));
      if (!guard && !asks) continue;
      guards |= guard;
      early.push_back(node);
      for (const Value* input : node->inputs()) asked.insert(input->node());
    }
    std::ranges::reverse(early);
    return guards ? early : std::vector<Node*>();
  }

  bool IsCheap(const Node& node) const {
    static const Symbol kGetItem = Symbol::fromQualString("aten::__getitem__");
    if (!pure_.IsPure(node)) return false;
    const bool looks_up = node.kind() == sym::kTupleIndex || node.kind() == sym::kTupleUnpack ||
                          (node.kind() == kGetItem && !IsTensor(*node.input(0)));
    return looks_up || std::ranges::none_of(node.outputs(), [](const Value* output) { return IsTensor(*output); });
  }

  static bool IsTensor(const Value& value) { return value.type()->kind() == c10::TypeKind::TensorType; }

  const PureNodes pure_;
  bool changed_ = false;
};

}  // namespace

bool MoveGuardsUp(Graph& plan, const UnitEffects* effects) { return Mover(plan, effects).changed(); }

}  // namespace hearth
