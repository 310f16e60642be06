#include "jit/passes/canonical_order.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

// What an operator is called with its operands the other way round, for those of which both are of one of these types.
struct Turned {
  Symbol symbol;
  std::string_view overloads;
};

const Turned* Turn(Symbol symbol) {
  static const std::unordered_map<Symbol, Turned> kTurned = [] {
    std::unordered_map<Symbol, Turned> turned;
    const auto add = [&](const char* name, const char* other, std::string_view overloads) {
      turned.emplace(Symbol::fromQualString(name), Turned{Symbol::fromQualString(other), overloads});
    };
    for (const char* name : {"aten::add", "aten::mul"}) add(name, name, " int float ");
    for (const char* name : {"aten::eq", "aten::ne"}) add(name, name, " int float bool str ");
    for (const char* name : {"aten::__and__", "aten::__or__", "aten::__xor__"}) add(name, name, " int bool ");
    for (const auto& [name, other] : {std::pair("aten::lt", "aten::gt"), std::pair("aten::le", "aten::ge")}) {
      add(name, other, " int float str ");
      add(other, name, " int float str ");
    }
    return turned;
  }();
  const auto found = kTurned.find(symbol);
  return found == kTurned.end() ? nullptr : &found->second;
}

// Whether the first operand is to be the second.
bool IsWrongWayRound(const Node& node) {
  const bool first = node.input(0)->node()->kind() == sym::kConstant;
  const bool second = node.input(1)->node()->kind() == sym::kConstant;
  return first != second ? first : node.input(0)->id() > node.input(1)->id();
}

bool TryTurn(Node* node) {
  if (node->op() == nullptr || node->inputs().size() != 2 || node->outputs().size() != 1) return false;
  const Turned* turned = Turn(node->kind());
  if (turned == nullptr || !IsWrongWayRound(*node)) return false;
  const std::string& overload = node->op()->schema().overload_name();
  if (overload.empty() || turned->overloads.find(" " + overload + " ") == std::string_view::npos) return false;
  const Operator* op = OperatorRegistry::Global().Find(turned->symbol, overload);
  if (op == nullptr) return false;
  Node* made = node->graph()->Create(turned->symbol, {node->input(1), node->input(0)});
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
    changed |= TryTurn(node);
  }
  return changed;
}

}  // namespace

bool OrderOperands(Compilation& compilation) { return Walk(*compilation.graph().block()); }

}  // namespace hearth
