#include "jit/passes/make_linears.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

bool IsOne(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr &&
         ((constant->isInt() && constant->toInt() == 1) || (constant->isDouble() && constant->toDouble() == 1));
}

// As a linear layer: the input, the matrix (not transposed), and the bias if there is one.
struct MatrixProduct {
  Value* input = nullptr;
  const at::Tensor* matrix = nullptr;
  Value* bias = nullptr;
};

class Maker {
 public:
  explicit Maker(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(*graph_.block());
    return changed_;
  }

 private:
  void Walk(const Block& block) {
    for (Node* node = block.param_node()->next(); node != block.return_node(); node = node->next()) {
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->op() != nullptr && node->op()->schema().overload_name().empty()) node = TryMake(node);
    }
  }

  MatrixProduct ProductOf(const Node& node) const {
    const bool added = node.kind() == c10::aten::addmm;
    if (!added && node.kind() != c10::aten::mm && node.kind() != c10::aten::matmul) return {};
    Value* const input = node.input(added ? 1 : 0);
    const at::Tensor* matrix = ConstantTensor(*node.input(added ? 2 : 1));
    if (matrix == nullptr || matrix->dim() != 2 || !IsPlain(*matrix)) return {};
    if (!target_.MakesLinears(matrix->device(), matrix->scalar_type())) return {};
    if (!matrix->is_contiguous() && !matrix->t().is_contiguous()) return {};
    // What raises here does so there, for which there is a rank that both take.
    const std::optional<size_t> rank = facts_.Of(*input).rank();
    if (node.kind() == c10::aten::matmul ? rank.value_or(0) == 0 : rank != 2u) return {};
    if (!added) return {input, matrix};
    const at::Tensor* bias = ConstantTensor(*node.input(0));
    if (bias == nullptr || bias->dim() != 1 || bias->size(0) != matrix->size(1)) return {};
    if (!IsOne(*node.input(3)) || !IsOne(*node.input(4))) return {};
    return {input, matrix, node.input(0)};
  }

  // The node, or what has taken its place.
  Node* TryMake(Node* node) {
    const MatrixProduct product = ProductOf(*node);
    if (product.input == nullptr) return node;
    const std::vector<at::Tensor> transposed = derived_.Get("transposed", {*product.matrix}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{product.matrix->t().detach()};
    });
    if (transposed.empty()) return node;
    Node* whole = node;
    Value* input = product.input;
    if (Node* after = ViewBack(*node, *input, *product.matrix)) {
      whole = after;
      input = input->node()->input(0);
    }
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* weight = graph_.InsertConstant(transposed[0]);
    Value* bias = product.bias != nullptr ? product.bias : graph_.InsertConstant({}, c10::NoneType::get());
    Value* linear = Operate(graph_, c10::aten::linear, "", {input, weight, bias}, node);
    for (const Value* each : {weight, bias, linear}) facts_.Infer(*each->node());
    linear->SetName(whole->output()->name());
    whole->output()->ReplaceAllUsesWith(linear);
    if (whole != node) whole->Destroy();
    node->Destroy();
    if (input != product.input && !product.input->HasUses()) product.input->node()->Destroy();
    changed_ = true;
    return linear->node();
  }

  // The only user of what `node` gives, if that brings back the dimensions that `rows` had been before they became one.
  Node* ViewBack(const Node& node, const Value& rows, const at::Tensor& matrix) const {
    const std::vector<Use>& uses = node.output()->uses();
    if (rows.node()->kind() != c10::aten::view || uses.size() != 1 || uses[0].user->kind() != c10::aten::view)
      return nullptr;
    Node* const after = uses[0].user;
    if (after->block() != node.block()) return nullptr;
    const ValueFacts& from = facts_.Of(*rows.node()->input(0));
    const ValueFacts& to = facts_.Of(*after->output());
    if (!from.rank() || *from.rank() == 0 || from.rank() != to.rank()) return nullptr;
    if (from.sizes->back() != KnownSize(matrix.size(0)) || to.sizes->back() != KnownSize(matrix.size(1)))
      return nullptr;
    const auto same = [](KnownSize a, KnownSize b) { return a.is_known() && a == b; };
    return std::equal(from.sizes->begin(), from.sizes->end() - 1, to.sizes->begin(), same) ? after : nullptr;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool MakeLinears(Compilation& compilation) { return Maker(compilation).Run(); }

}  // namespace hearth
