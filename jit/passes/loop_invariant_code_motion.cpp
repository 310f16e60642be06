#include "jit/passes/loop_invariant_code_motion.h"

#include <algorithm>

#include "jit/analysis/anchors.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class Hoister {
 public:
  explicit Hoister(Compilation& compilation) : pure_(compilation.pure_nodes()) { Walk(*compilation.graph().block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(const Block& block) {
    for (Node* node : block) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->kind() == sym::kLoop) HoistOutOf(node);
    }
  }

  void HoistOutOf(Node* loop) {
    const Block& body = *loop->block(0);
    if (Contains(body, sym::kStateStep)) return;
    const c10::IValue* start = ConstantOf(*loop->input(1));
    const bool may_fail = start != nullptr && start->toBool() && IsCovered(*loop);
    for (Node* node : body) {
      if (!may_fail && (node->kind() == sym::kGuard || MayThrow(*node))) continue;
      if (!IsInvariant(*node, body)) continue;
      node->MoveBefore(loop);
      changed_ = true;
    }
  }

  bool IsInvariant(const Node& node, const Block& body) const {
    if (std::ranges::any_of(node.inputs(), [&](const Value* input) { return input->node()->block() == &body; })) {
      return false;
    }
    return node.kind() == sym::kConstant || node.kind() == sym::kGuard || pure_.IsPure(node);
  }

  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool MoveLoopInvariantCode(Compilation& compilation) { return Hoister(compilation).changed(); }

}  // namespace hearth
