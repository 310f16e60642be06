#include "jit/passes/canonical_order.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

// Of words with a space between them.
bool Contains(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

// Whether the first operand is to be the second.
bool IsWrongWayRound(const Node& node) {
  const bool first = node.input(0)->node()->kind() == sym::kConstant;
  const bool second = node.input(1)->node()->kind() == sym::kConstant;
  return first != second ? first : node.input(0)->id() > node.input(1)->id();
}

bool TrySwap(Node* node) {
  if (node->op() == nullptr || node->inputs().size() != 2 || node->outputs().size() != 1) return false;
  const OperatorDefinition& definition = DefinitionOf(node->kind());
  const std::string& overload = node->op()->schema().overload_name();
  if (!Contains(definition.commutes, overload) || !IsWrongWayRound(*node)) return false;
  const bool relates = definition.relation != Relation::kNone;
  const Symbol symbol = relates ? SymbolOf(Mirrored(definition.relation)) : node->kind();
  const Operator* op = OperatorRegistry::Global().Find(symbol, overload);
  if (op == nullptr) return false;
  Node* made = node->graph()->Create(symbol, {node->input(1), node->input(0)});
  made->SetOperator(op);
  made->SetRange(node->range());
  made->SetInlinedCall(node->inlined_call());
  made->output()->SetType(node->output()->type());
  made->output()->SetName(node->output()->name());
  made->InsertBefore(node);
  node->output()->ReplaceAllUsesWith(made->output());
  node->Destroy();
  return true;
}

bool Walk(const Block& block) {
  bool changed = false;
  for (Node* node : block) {
    for (const Block* inner : node->blocks()) changed |= Walk(*inner);
    changed |= TrySwap(node);
  }
  return changed;
}

}  // namespace

bool OrderOperands(Compilation& compilation) { return Walk(*compilation.graph().block()); }

}  // namespace hearth
