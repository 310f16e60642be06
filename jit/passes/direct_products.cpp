#include "jit/passes/direct_products.h"

#include <algorithm>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

const Symbol kMatmul = Symbol::fromQualString("hearth::matmul");

bool IsBatchOfMatrices(const ValueFacts& facts) {
  return facts.is_tensor() && facts.plain && facts.dtype == c10::kFloat && facts.device && facts.device->is_cpu() &&
         facts.rank().value_or(0) >= 3;
}

bool DirectProductsOf(Compilation& compilation, Block* block) {
  bool changed = false;
  for (Node* node : *block) {
    for (Block* nested : node->blocks()) changed |= DirectProductsOf(compilation, nested);
    if ((node->kind() != c10::aten::matmul && node->kind() != c10::aten::bmm) || node->op() == nullptr ||
        node->inputs().size() != 2)
      continue;
    ValueFactTable& facts = compilation.facts();
    const ValueFacts &left = facts.Of(*node->input(0)), &right = facts.Of(*node->input(1));
    if (!IsBatchOfMatrices(left) || !IsBatchOfMatrices(right) || left.rank() != right.rank()) continue;
    Graph& graph = compilation.graph();
    const InsertionGuard here(&graph, node);
    graph.SetCurrentRange(node->range());
    Value* made = Operate(graph, kMatmul, "", {node->input(0), node->input(1)}, node);
    made->SetName(node->output()->name());
    facts.Infer(*made->node());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool DirectProducts(Compilation& compilation) { return DirectProductsOf(compilation, compilation.graph().block()); }

}  // namespace hearth
