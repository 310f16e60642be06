#include "jit/graph_edits/loop_entry.h"

#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"

namespace hearth {

Value* HasFirstRound(Graph& graph, const Node& loop) {
  Value* trips = loop.input(0);
  Value* start = loop.input(1);
  const c10::IValue* always = ConstantOf(*start);
  const bool starts = always != nullptr && always->toBool();
  if (ConstantOf(*trips) != nullptr) return starts ? nullptr : start;
  Value* some = Operate(graph, c10::aten::gt, "int", {trips, graph.InsertConstant(int64_t{0})});
  return starts ? some : Operate(graph, c10::aten::__and__, "bool", {some, start});
}

Node* BranchAroundLoop(Graph& graph, Node* loop, Value* condition) {
  Node* branch = graph.Insert(graph.Create(sym::kIf, {condition}, 0));
  branch->SetInlinedCall(loop->inlined_call());
  Block* goes_round = branch->AddBlock();
  Block* does_not = branch->AddBlock();
  for (size_t i = 0; i < loop->outputs().size(); ++i) {
    Value* output = branch->AddOutput(loop->output(i)->type());
    output->SetName(loop->output(i)->name());
    loop->output(i)->ReplaceAllUsesWith(output);
    goes_round->AddReturn(loop->output(i));
    does_not->AddReturn(loop->input(i + 2));
  }
  return branch;
}

}  // namespace hearth
