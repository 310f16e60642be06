#include "jit/passes/fuse_epilogues.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/joined_list.h"
#include "jit/analysis/private_memory.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/libraries/packed_weight.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

class EpilogueFuser {
 public:
  explicit EpilogueFuser(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        private_(graph_, compilation.memory().aliases()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      order_.emplace(node, order_.size());
      for (Block* nested : node->blocks()) Walk(nested);
      if (!TryActivation(node)) TryAddition(node);
    }
  }

  // Whether what the node gives may be what the convolution before it gives.
  bool MayMerge(const Node& node) const { return private_.IsPrivateWrite(node) || !private_.IsShared(*node.output()); }

  // The planned convolution that gives `value` to `user` alone; null if there is none.
  static Node* ConvolutionOf(const Value& value, const Node& user) {
    Node* node = value.node();
    const bool is_planned = node->kind() == sym::kConvolution || node->kind() == sym::kAddConvolution;
    return is_planned && node->block() == user.block() && value.uses().size() == 1 ? node : nullptr;
  }

  // Whether it is a sequence that a convolution of images of one row gave (choose_layouts.h), for `user` alone.
  static bool IsOfRow(const Value& value, const Node& user) {
    const Node* node = value.node();
    return node->kind() == c10::aten::squeeze && node->inputs().size() == 2 && node->block() == user.block() &&
           value.uses().size() == 1 && ConstantOf(*node->input(1)) != nullptr;
  }

  // Whether it is what a transposed convolution is made of (spread_convolutions.h), for `user` alone.
  static bool IsSpread(const Value& value, const Node& user) {
    return value.node()->kind() == sym::kSpreadChannels && value.node()->block() == user.block() &&
           value.uses().size() == 1;
  }

  static const std::string& EpilogueWords(const Node& convolution) {
    return ConstantOf(*convolution.input(convolution.inputs().size() - 1))->toStringRef();
  }

  // The planned convolutions of which `value` is made for `user` alone: one, or several that are joined; none if
  // something else is among them. One activation, and it comes last.
  static std::vector<Node*> ConvolutionsOf(const Value& value, const Node& user) {
    std::vector<Node*> convolutions;
    const Node* list = JoinedList(*value.node());
    if (list != nullptr && value.node()->block() == user.block() && value.uses().size() == 1 &&
        list->output()->uses().size() == 1) {
      for (const Value* part : list->inputs()) convolutions.push_back(ConvolutionOf(*part, *list));
    } else {
      const Value* convolved = IsOfRow(value, user) ? value.node()->input(0) : &value;
      if (IsSpread(*convolved, user)) convolved = convolved->node()->input(0);
      convolutions.push_back(ConvolutionOf(*convolved, user));
    }
    const bool all = std::ranges::all_of(convolutions, [](const Node* convolution) {
      return convolution != nullptr && libraries::IsBare(EpilogueWords(*convolution));
    });
    return all ? convolutions : std::vector<Node*>();
  }

  bool TryActivation(Node* node) {
    const std::string activation = EpilogueOf(*node);
    if (activation.empty() || !MayMerge(*node)) return false;
    const std::vector<Node*> convolutions = ConvolutionsOf(*node->input(0), *node);
    if (convolutions.empty()) return false;
    for (Node* convolution : convolutions) {
      const InsertionGuard before(&graph_, convolution);
      Value* epilogue = graph_.InsertConstant(libraries::Followed(EpilogueWords(*convolution), activation));
      facts_.Infer(*epilogue->node());
      convolution->ReplaceInput(convolution->inputs().size() - 1, epilogue);
    }
    node->output()->ReplaceAllUsesWith(node->input(0));
    node->Destroy();
    return changed_ = true;
  }

  // A convolution by itself and another tensor, the convolution last of the two if both are one.
  void TryAddition(Node* node) {
    if (node->kind() != c10::aten::add || node->op() == nullptr || node->op()->schema().overload_name() != "Tensor" ||
        !MayMerge(*node))
      return;
    const c10::IValue* factor = ConstantOf(*node->input(2));
    if (factor == nullptr || !factor->isInt() || factor->toInt() != 1) return;
    Node* convolution = nullptr;
    Value* other = nullptr;
    for (const size_t operand : {0, 1}) {
      Node* candidate = ConvolutionOf(*node->input(operand), *node);
      if (candidate == nullptr || !CanAdd(*candidate, *node->input(1 - operand))) continue;
      if (convolution != nullptr && order_.at(candidate) < order_.at(convolution)) continue;
      convolution = candidate;
      other = node->input(1 - operand);
    }
    if (convolution == nullptr) return;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(convolution->range());
    Value* epilogue = graph_.InsertConstant(std::string("add"));
    facts_.Infer(*epilogue->node());
    Value* made = Operate(graph_, sym::kAddConvolution, "",
                          {other, convolution->input(0), convolution->input(1), convolution->input(2), epilogue}, node);
    made->SetName(node->output()->name());
    facts_.Infer(*made->node());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    convolution->Destroy();
    changed_ = true;
  }

  // It computes where the addition stands then, so nobody may write in between what it reads.
  bool CanAdd(const Node& convolution, const Value& other) const {
    if (convolution.kind() != sym::kConvolution || !EpilogueWords(convolution).empty()) return false;
    const ValueFacts& sum = facts_.Of(*convolution.output());
    const ValueFacts& summand = facts_.Of(other);
    if (!summand.is_tensor() || !summand.plain || summand.dtype != c10::kFloat || summand.device != sum.device ||
        !HaveSameSizes(summand, sum) || !HaveSameStrides(summand, sum))
      return false;
    if (&other == convolution.output()) return false;
    return !memory_.MayBeWritten(*convolution.input(0)) &&
           (convolution.input(2)->type()->kind() != c10::TypeKind::TensorType ||
            !memory_.MayBeWritten(*convolution.input(2)));
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  const PrivateMemory private_;
  std::unordered_map<const Node*, size_t> order_;  // in which they were met
  bool changed_ = false;
};

}  // namespace

bool FuseEpilogues(Compilation& compilation) {
  return Contains(*compilation.source().block(), sym::kConvolution) && EpilogueFuser(compilation).Run();
}

}  // namespace hearth
