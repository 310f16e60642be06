#include "jit/graph_edits/operate.h"

#include "jit/operators/registry.h"

namespace hearth {

Value* Operate(Graph& graph, Symbol symbol, const char* overload, std::initializer_list<Value*> inputs,
               const Node* like) {
  const Operator* const op = OperatorRegistry::Global().Find(symbol, overload);
  TORCH_INTERNAL_ASSERT(op != nullptr && op->schema().returns().size() == 1, symbol.toQualString(), " ", overload);
  Node* node = graph.Insert(graph.Create(symbol, inputs));
  node->SetOperator(op);
  node->output()->SetType(op->schema().returns()[0].type());
  if (like != nullptr) node->SetInlinedCall(like->inlined_call());
  return node->output();
}

Value* OperateInstead(Graph& graph, const Operator& op, std::span<Value* const> inputs, const Node& like) {
  Node* node = graph.Insert(graph.Create(op.symbol(), inputs));
  node->SetOperator(&op);
  node->output()->SetType(like.output()->type());
  node->output()->SetName(like.output()->name());
  node->SetInlinedCall(like.inlined_call());
  return node->output();
}

Value* OperateLike(Graph& graph, const Node& like, std::span<Value* const> inputs) {
  return OperateInstead(graph, *like.op(), inputs, like);
}

}  // namespace hearth
