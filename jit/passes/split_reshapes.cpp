#include "jit/passes/split_reshapes.h"

#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/fact_rules.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/ir/closure.h"
#include "jit/operators/operator.h"
#include "jit/passes/gpu_kernels.h"

namespace hearth {
namespace {

bool IsReshape(const Node& node) {
  return node.op() != nullptr &&
         (node.kind() == c10::aten::reshape ||
          (node.kind() == c10::aten::flatten && node.op()->schema().overload_name() == "using_ints"));
}

// On a GPU: the sizes of the result; none if it may be a view, or that is not known.
std::optional<std::vector<int64_t>> SizesOfCopy(const Node& reshape, const ValueFactTable& facts) {
  const ValueFacts &from = facts.Of(*reshape.input(0)), &to = facts.Of(*reshape.output());
  if (!from.is_tensor() || !from.plain || !from.device || !from.device->is_cuda()) return {};
  std::optional<std::vector<int64_t>> sizes = ConstantsOf(to.sizes);
  return sizes && IsCopiedByReshape(from, *sizes) ? sizes : std::nullopt;
}

}  // namespace

bool SplitReshapes(Compilation& compilation) {
  if (!MakesGpuKernels(compilation)) return false;
  Graph& graph = compilation.graph();
  ValueFactTable& facts = compilation.facts();
  const InferringEdits edits(graph, facts);
  bool changed = false;
  for (Node* node : NodesOutsideClosures(*graph.block(), IsReshape)) {
    const std::optional<std::vector<int64_t>> sizes = SizesOfCopy(*node, facts);
    if (!sizes) continue;
    const InsertionGuard here(&graph, node);
    graph.SetCurrentRange(node->range());
    Value* copy = edits.Contiguous(node->input(0), node);
    Value* view = edits.Infer(Operate(graph, c10::aten::view, "", {copy, edits.Constant(*sizes)}, node));
    view->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(view);
    node->Destroy();
    changed = true;
  }
  return changed;
}

}  // namespace hearth
