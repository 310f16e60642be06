#include "jit/passes/join_branches.h"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/channel_constant.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/derived_weight.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

using at::indexing::Slice;

// What is added to the result of a convolution: another one, or the input with a scale and a shift.
struct Branch {
  Node* convolution = nullptr;
  std::optional<ConvolutionCall> call;  // of the convolution
  at::Tensor scale;                     // of the input, undefined: 1
  at::Tensor shift;                     // of either, a convolution's bias; undefined: 0
};

at::Tensor InDouble(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kDouble).reshape({-1}) : at::Tensor();
}

// The kernel that gives each channel times its scale, in the middle of one of these sizes.
at::Tensor ScalingKernel(const at::Tensor& scale, const at::Tensor& like) {
  at::Tensor kernel = at::zeros(like.sizes(), like.options().dtype(at::kDouble));
  const at::Tensor channels = at::arange(like.size(0), like.options().dtype(at::kLong));
  const at::Tensor factors = scale.defined() ? InDouble(scale) : at::ones(like.size(0), kernel.options());
  kernel.index_put_({channels, channels.remainder(like.size(1)), like.size(2) / 2, like.size(3) / 2}, factors);
  return kernel;
}

std::vector<at::Tensor> Joined(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& other_weight,
                               const at::Tensor& other_scale, const at::Tensor& other_shift) {
  const at::NoGradGuard no_gradients;
  at::Tensor sum = weight.detach().to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  if (other_weight.defined()) {
    const int64_t top = (weight.size(2) - other_weight.size(2)) / 2, left = (weight.size(3) - other_weight.size(3)) / 2;
    sum.index({Slice(), Slice(), Slice(top, top + other_weight.size(2)), Slice(left, left + other_weight.size(3))})
        .add_(other_weight.detach());
  } else {
    sum.add_(ScalingKernel(other_scale, weight));
  }
  at::Tensor shift = InDouble(bias);
  if (other_shift.defined()) shift = shift.defined() ? shift + InDouble(other_shift) : InDouble(other_shift);
  return {sum.to(weight.scalar_type()), shift.defined() ? shift.to(weight.scalar_type()) : at::Tensor()};
}

class BranchJoiner {
 public:
  explicit BranchJoiner(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  // A closure sees no constants from outside of it: what is in one stays.
  void Walk(Block* block) {
    for (Node* node : *block) {
      if (IsTask(*node)) continue;
      for (Block* nested : node->blocks()) Walk(nested);
      if (IsSum(*node)) TryJoin(node);
    }
  }

  bool IsSum(const Node& node) const {
    return node.kind() == c10::aten::add && node.op() != nullptr && node.inputs().size() == 3 &&
           NumberOf(*node.input(2), facts_.memory()) == 1;
  }

  void TryJoin(Node* sum) {
    std::optional<Branch> first = ConvolutionOf(sum->input(0), *sum), second = ConvolutionOf(sum->input(1), *sum);
    if (first && second && Contains(*second->call, *first->call)) std::swap(first, second);
    if (first && second && Contains(*first->call, *second->call) &&
        first->convolution->input(0) == second->convolution->input(0) && LiesAsSum(*first, *sum)) {
      return Join(sum, *first, *second);
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const std::optional<Branch> convolution = ConvolutionOf(sum->input(side), *sum);
      if (!convolution || !KeepsPlaces(*convolution->call) || !LiesAsSum(*convolution, *sum)) continue;
      const std::optional<Branch> input = InputOf(sum->input(1 - side), *sum, *convolution);
      if (input) return Join(sum, *convolution, *input);
    }
  }

  // Whether the convolution gives the order in memory that the sum has.
  bool LiesAsSum(const Branch& branch, const Node& sum) const {
    const StrideOrder &order = facts_.Of(*branch.convolution->output()).order, &of_sum = facts_.Of(*sum.output()).order;
    return order.IsLike(of_sum) && ((order.is_exact() && of_sum.is_exact()) || !StridesMayShow(*sum.output(), facts_));
  }

  // Past the zero that a sum may begin with, as 0 + x + y: only the sign of a zero may be another without it.
  Value* PastZero(Value* value, const Node& sum) const {
    const Node& node = *value->node();
    const bool adds_zero = node.block() == sum.block() && value->uses().size() == 1 && IsSum(node) &&
                           NumberOf(*node.input(1), facts_.memory()) == 0;
    if (!adds_zero) return value;
    const ValueFacts &of = facts_.Of(*node.input(0)), &result = facts_.Of(*value);
    const bool is_same = of.plain && of.dtype && of.dtype == result.dtype && c10::isFloatingType(*of.dtype);
    return is_same ? node.input(0) : value;
  }

  // Of something that nobody but `sum` uses.
  std::optional<Branch> ConvolutionOf(Value* operand, const Node& sum) const {
    const Value& value = *PastZero(operand, sum);
    Node* node = value.node();
    Branch branch;
    branch.convolution = node;
    branch.call = ConvolutionCall::Of(*node);
    if (!branch.call || node->block() != sum.block() || value.uses().size() != 1) return {};
    if (facts_.Of(*node->input(0)).rank() != 4u || facts_.memory().MayBeWritten(*node->input(0))) return {};
    if (!target_.FoldsWeights(branch.call->weight.device(), branch.call->weight.scalar_type())) return {};
    if (const at::Tensor* bias = ConstantTensor(*node->input(2))) branch.shift = *bias;
    if (!IsLike(branch.shift, branch.call->weight)) return {};
    return branch;
  }

  static bool IsLike(const at::Tensor& tensor, const at::Tensor& weight) {
    return !tensor.defined() ||
           (IsPlain(tensor) && tensor.scalar_type() == weight.scalar_type() && tensor.device() == weight.device());
  }

  // Whether the other kernel lies in the middle of this one, for every place of the result.
  static bool Contains(const ConvolutionCall& all, const ConvolutionCall& part) {
    if (all.groups != part.groups || all.stride != part.stride || all.weight.size(0) != part.weight.size(0) ||
        all.weight.size(1) != part.weight.size(1) || !IsLike(part.weight, all.weight)) {
      return false;
    }
    for (size_t i = 0; i < 2; ++i) {
      const int64_t size = all.weight.size(static_cast<int64_t>(i) + 2),
                    other = part.weight.size(static_cast<int64_t>(i) + 2);
      if (other > size || (size - other) % 2 != 0 || (other > 1 && all.dilation[i] != part.dilation[i])) return false;
      if (all.padding[i] - part.padding[i] != all.dilation[i] * (size - other) / 2) return false;
    }
    return true;
  }

  // Whether each place of the result has that of the input in the middle.
  static bool KeepsPlaces(const ConvolutionCall& call) {
    for (size_t i = 0; i < 2; ++i) {
      const int64_t size = call.weight.size(static_cast<int64_t>(i) + 2);
      if (call.stride[i] != 1 || size % 2 == 0 || call.padding[i] != call.dilation[i] * (size / 2)) return false;
    }
    return call.weight.size(0) == call.weight.size(1) * call.groups;
  }

  // The convolution's input with a scale and a shift of each channel, which nobody but `sum` uses.
  std::optional<Branch> InputOf(Value* value, const Node& sum, const Branch& beside) const {
    const Value* const input = beside.convolution->input(0);
    const at::Tensor& weight = beside.call->weight;
    Branch branch;
    if (value != input) value = PastZero(value, sum);
    for (const Symbol step : {c10::aten::add, c10::aten::mul}) {
      if (value == input) return branch;
      const Node& node = *value->node();
      if (node.kind() != step) continue;
      const bool adds = step == c10::aten::add;
      const at::Tensor* constant = node.inputs().size() == (adds ? 3 : 2) ? ConstantTensor(*node.input(1)) : nullptr;
      if (constant == nullptr || node.block() != sum.block() || value->uses().size() != 1 || (adds && !IsSum(node)) ||
          !IsPerChannel(*constant, 4, weight.size(0)) || !IsLike(*constant, weight)) {
        return {};
      }
      (adds ? branch.shift : branch.scale) = *constant;
      value = node.input(0);
    }
    return value == input ? std::optional(branch) : std::nullopt;
  }

  void Join(Node* sum, const Branch& kept, const Branch& other) {
    const at::Tensor& weight = kept.call->weight;
    const at::Tensor other_weight = other.call ? other.call->weight : at::Tensor();
    const std::vector<at::Tensor> made =
        derived_.Get(other.call ? "joined convolutions" : "convolution joined with its input",
                     {weight, kept.shift, other_weight, other.scale, other.shift},
                     [&] { return Joined(weight, kept.shift, other_weight, other.scale, other.shift); });
    if (made.empty()) return;
    Node* node = kept.convolution;
    node->ReplaceInput(1, PrependWeight(graph_, made[0], node->input(1)->name(), ".joined", node->range()));
    if (made[1].defined()) node->ReplaceInput(2, PrependWeight(graph_, made[1], {}, ".joined", node->range()));
    Value* const operands[] = {sum->input(0), sum->input(1)};
    node->output()->SetName(sum->output()->name());
    sum->output()->ReplaceAllUsesWith(node->output());
    sum->Destroy();
    for (Value* operand : operands) DestroyUnused(operand, node);
    changed_ = true;
  }

  // What only the sum used, down to the convolution that is left or its input.
  static void DestroyUnused(Value* value, const Node* left) {
    while (value != left->input(0) && value->node() != left) {
      Node* node = value->node();
      value = node->input(0);
      node->Destroy();
    }
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool JoinBranches(Compilation& compilation) { return BranchJoiner(compilation).Run(); }

}  // namespace hearth
