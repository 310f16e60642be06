#include "jit/graph_edits/schedule.h"

#include <algorithm>
#include <unordered_set>

#include "jit/analysis/anchors.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class UpMover {
 public:
  UpMover(Node* begin, const Node* end) : place_(begin->prev()) {
    for (const Node* node = begin; node != end; node = node->next()) waiting_.insert(node);
  }

  bool Move(std::vector<Node*> left) {
    while (!left.empty()) {
      Advance(left);
      if (left.empty()) break;
      // What is next in the old order, and not early.
      place_ = place_->next();
      waiting_.erase(place_);
      std::erase(left, place_);
    }
    return changed_;
  }

 private:
  // Puts all that may stand behind `place_` there.
  void Advance(std::vector<Node*>& left) {
    bool guard_waits = false;
    for (auto at = left.begin(); at != left.end();) {
      Node* node = *at;
      const bool guard = node->kind() == sym::kGuard;
      if (!IsReady(*node) || (guard_waits && !guard && MayThrow(*node))) {
        guard_waits |= guard;
        ++at;
        continue;
      }
      if (place_->next() != node) {
        changed_ |= Passes(place_->next(), node);
        node->MoveAfter(place_);
      }
      place_ = node;
      waiting_.erase(node);
      at = left.erase(at);
    }
  }

  bool IsReady(const Node& node) const {
    return std::ranges::none_of(node.inputs(), [&](const Value* input) { return waiting_.count(input->node()) != 0; });
  }

  // Whether there is work between the two.
  static bool Passes(const Node* from, const Node* to) {
    for (const Node* node = from; node != to; node = node->next()) {
      if (node->kind() != sym::kConstant) return true;
    }
    return false;
  }

  Node* place_;
  std::unordered_set<const Node*> waiting_;  // that are to stand further down
  bool changed_ = false;
};

}  // namespace

bool MoveUp(std::vector<Node*> early, Node* begin, const Node* end) {
  return !early.empty() && UpMover(begin, end).Move(std::move(early));
}

bool EndsStretch(const Node& node) { return node.kind() == sym::kFrameState || ContainsFrameState(node); }

bool IsCheap(const Node& node, const PureNodes& pure) {
  if (node.kind() == sym::kConstant) return true;
  if (!pure.IsPure(node)) return false;
  const bool looks_up = node.kind() == sym::kTupleIndex || node.kind() == sym::kTupleUnpack ||
                        (node.kind() == c10::aten::__getitem__ && !IsTensor(*node.input(0)));
  return looks_up || std::ranges::none_of(node.outputs(), [](const Value* output) { return IsTensor(*output); });
}

Node* NodeIn(const Block& block, Node* node) {
  while (node != nullptr && node->block() != &block) node = node->block()->owner();
  return node;
}

}  // namespace hearth
