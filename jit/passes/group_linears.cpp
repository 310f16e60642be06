#include "jit/passes/group_linears.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/weights/derived_constants.h"
#include "jit/weights/joined_rows.h"

namespace hearth {
namespace {

const Symbol kLinears = Symbol::fromQualString("hearth::linears");

constexpr size_t kFewest = 4;
constexpr int64_t kMostOutputs = 16;  // of one layer

// That it goes into the layer itself (pack_linears) is worth more.
bool BecomesPartOfIt(const Node& node) {
  const std::vector<Use>& uses = node.output()->uses();
  return uses.size() == 1 && (uses[0].user->kind() == c10::aten::relu || uses[0].user->kind() == c10::aten::relu_);
}

class Grouper {
 public:
  explicit Grouper(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        memory_(compilation.memory()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  // By the input's id, the inputs of a row of the weight, and whether there is a bias: in the order of the block.
  using Key = std::tuple<size_t, int64_t, bool>;

  void Walk(Block* block) {
    std::map<Key, std::vector<Node*>> groups;
    for (Node* node : *block) {
      if (IsClosure(*node)) continue;
      for (Block* inner : node->blocks()) Walk(inner);
      if (node->kind() != c10::aten::linear || node->op() == nullptr || memory_.MayBeWritten(*node->input(0))) continue;
      if (BecomesPartOfIt(*node)) continue;
      const at::Tensor* weight = ConstantTensor(*node->input(1));
      if (weight == nullptr || !IsUsable(*weight, 2) || weight->size(0) > kMostOutputs) continue;
      const at::Tensor* bias = ConstantTensor(*node->input(2));
      const c10::IValue* no_bias = ConstantOf(*node->input(2));
      if (bias != nullptr ? !IsUsable(*bias, 1) || bias->size(0) != weight->size(0)
                          : no_bias == nullptr || !no_bias->isNone()) {
        continue;
      }
      groups[{node->input(0)->id(), weight->size(1), bias != nullptr}].push_back(node);
    }
    for (const auto& [key, nodes] : groups) {
      if (nodes.size() >= kFewest) Group(nodes);
    }
  }

  bool IsUsable(const at::Tensor& tensor, int64_t dimensions) const {
    return target_.GroupsLinears(tensor.device(), tensor.scalar_type()) && IsPlain(tensor) &&
           tensor.dim() == dimensions && tensor.is_contiguous();
  }

  void Group(const std::vector<Node*>& nodes) {
    Node* first = nodes.front();
    const bool has_bias = ConstantTensor(*first->input(2)) != nullptr;
    const c10::IValue weights = Joined(nodes, 1);
    const c10::IValue biases = has_bias ? Joined(nodes, 2) : c10::IValue();
    if (weights.isNone() || biases.isNone() == has_bias) return;
    const InsertionGuard here(&graph_, first);
    graph_.SetCurrentRange(first->range());
    std::vector<int64_t> outputs;
    for (const Node* node : nodes) outputs.push_back(ConstantTensor(*node->input(1))->size(0));
    Value* weight = graph_.InsertConstant(weights);
    Value* bias = graph_.InsertConstant(biases);
    Value* sizes = graph_.InsertConstant(c10::IValue(outputs));
    Value* linears = Operate(graph_, kLinears, "", {first->input(0), weight, bias, sizes}, first);
    Node* unpack = graph_.Create(sym::kListUnpack, {linears}, nodes.size());
    unpack->SetInlinedCall(first->inlined_call());
    graph_.Insert(unpack);
    for (size_t i = 0; i < nodes.size(); ++i) {
      unpack->output(i)->SetType(c10::TensorType::get());
      unpack->output(i)->SetName(nodes[i]->output()->name());
      nodes[i]->output()->ReplaceAllUsesWith(unpack->output(i));
      nodes[i]->Destroy();
    }
    changed_ = true;
  }

  // The weights, or the biases.
  c10::IValue Joined(const std::vector<Node*>& nodes, size_t input) {
    std::vector<at::Tensor> tensors;
    for (const Node* node : nodes) tensors.push_back(*ConstantTensor(*node->input(input)));
    return JoinedRows(tensors, derived_);
  }

  const Target& target_;
  Graph& graph_;
  const WrittenMemory& memory_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool GroupLinears(Compilation& compilation) { return Grouper(compilation).Run(); }

}  // namespace hearth
