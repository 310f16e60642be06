#include "jit/analysis/private_memory.h"

#include "jit/definitions/node_effects.h"
#include "jit/operators/operator.h"

namespace hearth {

PrivateMemory::PrivateMemory(const Graph& graph, const AliasClasses& aliases) : aliases_(aliases) {
  Visit(*graph.block());
}

void PrivateMemory::Visit(const Block& block) {
  for (const Node* node : block) {
    const bool calls = EffectsOf(*node).calls;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (!HasMemory(*node->input(i)->type()) || (!calls && !WritesInput(*node, i))) continue;
      if (!calls && i == 0 && IsOnlyFor(*node->input(0), *node)) {
        private_writes_.insert(node);
      } else {
        shared_.insert(aliases_.ClassOf(*node->input(i)));
      }
    }
    for (const Block* nested : node->blocks()) Visit(*nested);
  }
}

bool PrivateMemory::IsOnlyFor(const Value& value, const Node& user) const {
  const Node& maker = *value.node();
  if (value.uses().size() != 1 || value.uses().front().user != &user || maker.block() != user.block()) return false;
  if (maker.op() == nullptr || maker.op()->is_vararg()) return false;
  if (private_writes_.count(&maker) != 0) return true;
  for (size_t i = 0; i < maker.inputs().size(); ++i) {
    if (HasMemory(*maker.input(i)->type()) && OutputMayAliasInput(maker, value.offset(), i)) return false;
  }
  return true;
}

}  // namespace hearth
