#include "jit/passes/number_masks.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/all.h>
#include <ATen/ops/any.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/operators/attention_operands.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

class MaskNumberer {
 public:
  explicit MaskNumberer(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(*graph_.block());
    return changed_;
  }

 private:
  void Walk(const Block& block) {
    std::map<std::pair<size_t, c10::ScalarType>, std::vector<Node*>> users;  // by the mask's id
    for (Node* node : block) {
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->kind() != c10::aten::scaled_dot_product_attention || node->op() == nullptr) continue;
      const ValueFacts& query = facts_.Of(*node->input(sdpa::kQuery));
      if (query.dtype && IsMask(*node->input(sdpa::kMask)))
        users[{node->input(sdpa::kMask)->id(), *query.dtype}].push_back(node);
    }
    for (const auto& [key, nodes] : users) Replace(nodes, key.second);
  }

  bool IsMask(const Value& mask) const {
    const ValueFacts& facts = facts_.Of(mask);
    return facts.is_tensor() && facts.plain && facts.dtype == c10::kBool && facts.device &&
           target_.NumbersMasks(*facts.device) && !facts_.memory().MayBeWritten(mask);
  }

  // For tensors of half precision LibTorch may choose cuDNN, and what is hidden is a large number there, not minus
  // infinity: a query that sees nothing has another answer. So there each query must be known to see something.
  static bool HasOtherNumbers(const at::Tensor* constant, c10::ScalarType dtype) {
    if (dtype != c10::kHalf && dtype != c10::kBFloat16) return false;
    return constant == nullptr || constant->dim() == 0 || !at::all(at::any(*constant, -1)).item<bool>();
  }

  void Replace(const std::vector<Node*>& attentions, c10::ScalarType dtype) {
    Value* mask = attentions[0]->input(sdpa::kMask);
    const at::Tensor* constant = ConstantTensor(*mask);
    if (HasOtherNumbers(constant, dtype)) return;
    if (constant == nullptr && attentions.size() < 2) return;
    const InsertionGuard here(&graph_, attentions[0]);
    graph_.SetCurrentRange(attentions[0]->range());
    Value* numbers = constant != nullptr ? NumbersOf(*constant, dtype) : Compute(mask, dtype);
    if (numbers == nullptr) return;
    for (Node* attention : attentions) attention->ReplaceInput(sdpa::kMask, numbers);
    changed_ = true;
  }

  // Null if there is no room for it.
  Value* NumbersOf(const at::Tensor& mask, c10::ScalarType dtype) {
    const std::vector<at::Tensor> made = derived_.Get("mask as " + std::string(c10::toString(dtype)), {mask}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector{at::zeros_like(mask, dtype).masked_fill_(mask.logical_not(), kHidden)};
    });
    return made.empty() ? nullptr : edits_.Constant(made[0]);
  }

  Value* Compute(Value* mask, c10::ScalarType dtype) {
    Value* none = graph_.InsertConstant(c10::IValue());
    Value* type = graph_.InsertConstant(static_cast<int64_t>(dtype));
    Value* hidden = graph_.InsertConstant(kHidden);
    Value* zeros = edits_.Infer(Operate(graph_, c10::aten::zeros_like, "", {mask, type, none, none, none, none}));
    Value* hides = edits_.Infer(Operate(graph_, c10::aten::logical_not, "", {mask}));
    return edits_.Infer(Operate(graph_, c10::aten::masked_fill, "Scalar", {zeros, hides, hidden}));
  }

  const Target& target_;
  Graph& graph_;
  const ValueFactTable& facts_;
  const InferringEdits edits_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool NumberMasks(Compilation& compilation) { return MaskNumberer(compilation).Run(); }

}  // namespace hearth
