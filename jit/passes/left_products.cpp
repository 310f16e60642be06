#include "jit/passes/left_products.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/weights/bias_column.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

const std::vector<size_t> kTransposed = {0, 2, 1};

// The matrix, each of whose rows begins at a multiple of 16 bytes of half precision: cuBLAS reads others an element or
// two at a time.
at::Tensor WithAlignedRows(const at::Tensor& matrix) {
  constexpr int64_t kAligned = 8;  // elements
  const int64_t columns = matrix.size(1);
  if (columns % kAligned == 0) return matrix;
  const at::Tensor rows = matrix.new_empty({matrix.size(0), (columns / kAligned + 1) * kAligned});
  return rows.narrow(1, 0, columns).copy_(matrix);
}

class LeftMultiplier {
 public:
  explicit LeftMultiplier(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    const std::vector<Node*> found =
        NodesOutsideClosures(*graph_.block(), [this](const Node& node) { return Suits(node); });
    for (Node* node : found) Replace(node);
    return changed_;
  }

 private:
  bool Suits(const Node& node) const {
    if (node.kind() != c10::aten::linear || node.op() == nullptr) return false;
    const ValueFacts& x = facts_.Of(*node.input(0));
    const at::Tensor* weight = ConstantTensor(*node.input(1));
    if (weight == nullptr || weight->dim() != 2 || !x.is_tensor() || !x.plain || x.rank() != 3u) return false;
    if (!x.device || !x.dtype || x.dtype != weight->scalar_type()) return false;
    if (!target_.MakesLinears(*x.device, *x.dtype) || (x.device->is_cpu() && !IsTransposedBack(node))) return false;
    if (!x.order.is_known() || x.order.Nesting(3) != kTransposed) return false;
    const c10::IValue* bias = ConstantOf(*node.input(2));
    if (bias == nullptr || (!bias->isNone() && ConstantTensor(*node.input(2)) == nullptr)) return false;
    return !OrderMayShow(*node.output(), facts_);
  }

  void Replace(Node* node) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    // The matrices as they lie: what was transposed right before, or a view.
    Node* before = node->input(0)->node();
    Value* x = IsTransposition(*before) ? before->input(0) : Transposed(node->input(0), node);
    if (facts_.Of(*x).device->is_cpu()) {
      PushDown(edits_.Infer(Operate(graph_, sym::kLeftLinear, "",
                                    {x, node->input(1), node->input(2), edits_.Constant(std::string())}, node)),
               node);
      changed_ = true;
    } else {
      ReplaceByMatmul(x, node);
    }
  }

  void ReplaceByMatmul(Value* x, Node* node) {
    Value* column = nullptr;
    if (const at::Tensor* bias = ConstantTensor(*node->input(2))) {
      const std::optional<at::Tensor> made = BiasColumn(*bias, derived_);
      if (!made) return;
      column = edits_.Constant(*made);
    }
    const at::Tensor& weight = *ConstantTensor(*node->input(1));
    // Of three dimensions: the product of one matrix with several may be that of their transposes.
    const std::vector<at::Tensor> batch = derived_.Get("weight as a batch", {weight}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{WithAlignedRows(weight.detach()).unsqueeze(0)};
    });
    if (batch.empty()) return;
    Value* product = edits_.Infer(Operate(graph_, c10::aten::matmul, "", {edits_.Constant(batch.front()), x}, node));
    if (column != nullptr) {
      product =
          edits_.Infer(Operate(graph_, c10::aten::add, "Tensor", {product, column, edits_.Constant(int64_t{1})}, node));
    }
    PushDown(product, node);
    changed_ = true;
  }

  // `product` is what `node` gives, transposed. Takes the place of the node and of what alone uses it, as far as that
  // can be computed of the product as it lies.
  void PushDown(Value* product, Node* node) {
    std::vector<Node*> replaced = {node};
    for (Node* user = OnlyUser(*node); user != nullptr; user = OnlyUser(*user)) {
      if (IsTransposition(*user)) {
        user->output()->ReplaceAllUsesWith(product);
        replaced.push_back(user);
        break;
      }
      if (!IsActivation(*user)) break;
      if (!TakeActivation(*product->node(), *user)) {
        const InsertionGuard here(&graph_, user);
        std::vector<Value*> operands(user->inputs().begin(), user->inputs().end());
        operands[0] = product;
        product = edits_.Infer(OperateLike(graph_, *user, operands));
      }
      replaced.push_back(user);
    }
    Node* last = replaced.back();
    if (!IsTransposition(*last)) {
      const InsertionGuard here(&graph_, last);
      Value* result = Transposed(product, last);
      result->SetName(last->output()->name());
      last->output()->ReplaceAllUsesWith(result);
    }
    while (!replaced.empty()) {
      replaced.back()->Destroy();
      replaced.pop_back();
    }
  }

  static bool IsActivation(const Node& node) {
    return !EpilogueOf(node).empty() && FindInPlace(node.kind()) == nullptr;
  }

  // Whether the layer computes the activation from now on.
  bool TakeActivation(Node& layer, const Node& activation) {
    if (layer.kind() != sym::kLeftLinear || !ConstantOf(*layer.input(3))->toStringRef().empty()) return false;
    const InsertionGuard here(&graph_, &layer);
    layer.ReplaceInput(3, edits_.Constant(EpilogueOf(activation)));
    return true;
  }

  // Whether the layer's result is transposed after activations, or is a layer's input that is such a product next.
  bool IsTransposedBack(const Node& layer) const {
    const Node* user = OnlyUser(layer);
    while (user != nullptr && IsActivation(*user)) user = OnlyUser(*user);
    if (user == nullptr) return false;
    return IsTransposition(*user) ||
           (user->kind() == c10::aten::linear && ConstantTensor(*user->input(1)) != nullptr && IsTransposedBack(*user));
  }

  // The only user of what the node gives, in its block, as its first operand.
  static Node* OnlyUser(const Node& node) {
    const std::vector<Use>& uses = node.output()->uses();
    if (uses.size() != 1 || uses[0].user->block() != node.block()) return nullptr;
    Node* user = uses[0].user;
    return user->op() != nullptr && user->outputs().size() == 1 && user->input(0) == node.output() ? user : nullptr;
  }

  // Of the last two of three dimensions.
  static bool IsTransposition(const Node& node) {
    if (node.kind() != c10::aten::transpose) return false;
    const std::optional<int64_t> a = IntegerOf(*node.input(1)), b = IntegerOf(*node.input(2));
    if (!a || !b) return false;
    const std::set<int64_t> dimensions = {*a < 0 ? *a + 3 : *a, *b < 0 ? *b + 3 : *b};
    return dimensions == std::set<int64_t>{1, 2};
  }

  Value* Transposed(Value* value, Node* like) {
    return edits_.Infer(Operate(graph_, c10::aten::transpose, "int",
                                {value, edits_.Constant(int64_t{1}), edits_.Constant(int64_t{2})}, like));
  }
  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool LeftProducts(Compilation& compilation) {
  return compilation.weights() != nullptr && LeftMultiplier(compilation).Run();
}

}  // namespace hearth
