#include "jit/passes/early_guards.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "jit/analysis/pure_nodes.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/schedule.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class GuardMover {
 public:
  explicit GuardMover(Compilation& compilation) : pure_(compilation.pure_nodes()) {
    Walk(*compilation.graph().block());
  }
  bool changed() const { return changed_; }

 private:
  void Walk(const Block& block) {
    Node* begin = block.param_node()->next();
    for (Node* node = begin; node != block.return_node(); node = node->next()) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (!EndsStretch(*node)) continue;
      changed_ |= MoveUp(FindEarly(begin, node), begin, node);
      begin = node->next();
    }
    changed_ |= MoveUp(FindEarly(begin, block.return_node()), begin, block.return_node());
  }

  // Guards, and what they ask that is cheap, in order.
  std::vector<Node*> FindEarly(Node* begin, const Node* end) const {
    std::unordered_set<const Node*> asked;
    std::vector<Node*> early;
    bool guards = false;
    if (begin == end) return {};
    for (Node* node = end->prev(); node != begin->prev(); node = node->prev()) {
      const bool guard = node->kind() == sym::kGuard;
      const bool asks = asked.count(node) != 0 && (node->kind() == sym::kConstant || IsCheap(*node, pure_));
      if (!guard && !asks) continue;
      guards |= guard;
      early.push_back(node);
      for (const Value* input : node->inputs()) asked.insert(input->node());
    }
    std::ranges::reverse(early);
    return guards ? early : std::vector<Node*>();
  }

  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool MoveGuardsUp(Compilation& compilation) { return GuardMover(compilation).changed(); }

}  // namespace hearth
