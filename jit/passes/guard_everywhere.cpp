#include "jit/passes/guard_everywhere.h"

#include "jit/analysis/anchors.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// `holds` is what the guards ask. The FrameState that covers the end of the block, given the one at its start; null if
// none does, as behind control flow in whose blocks another one takes over.
const Node* GuardBlock(Block& block, const Node* state, Value* holds) {
  for (Node* node = block.param_node()->next(); node != block.return_node(); node = node->next()) {
    if (node->kind() == sym::kFrameState) {
      state = node->attribute<int64_t>(sym::kAnchorAttr) != kNoAnchor ? node : nullptr;
      continue;
    }
    if (node->kind() == sym::kConstant) continue;
    if (state != nullptr) {
      Node* guard = block.graph()->Create(sym::kGuard, {holds}, 0);
      guard->InsertBefore(node);
      guard->SetRange(node->range());
    }
    if (IsClosure(*node)) continue;
    const Node* const before = state;
    for (Block* inner : node->blocks()) {
      if (GuardBlock(*inner, before, holds) != before) state = nullptr;
    }
  }
  return state;
}

}  // namespace

bool GuardEverywhere(Compilation& compilation) {
  Graph& plan = compilation.graph();
  InsertionGuard at_start(&plan, plan.block()->param_node()->next());
  Value* holds = plan.InsertConstant(true);
  GuardBlock(*plan.block(), nullptr, holds);
  return true;
}

}  // namespace hearth
