#include "jit/passes/fuse_epilogues.h"

#include <algorithm>
#include <string>
#include <vector>

#include "jit/analysis/private_memory.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

const Symbol kPackedConvolution = Symbol::fromQualString("hearth::convolution");

// Operands of hearth::convolution.
constexpr size_t kOther = 9;
constexpr size_t kActivation = 10;
constexpr size_t kParameters = 11;

class Fuser {
 public:
  explicit Fuser(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), private_(graph_, facts_.memory().aliases()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) Walk(nested);
      if (!TryActivation(node)) TryAddition(node);
    }
  }

  // Whether what the node gives may be what the convolution before it gives.
  bool MayMerge(const Node& node) const { return private_.IsPrivateWrite(node) || !private_.IsShared(*node.output()); }

  // The convolution that gives `value` to `user` alone and does nothing more so far; null if there is none.
  static Node* BareConvolution(const Value& value, const Node& user) {
    Node* node = value.node();
    if (node->kind() != kPackedConvolution || node->block() != user.block() || value.uses().size() != 1) return nullptr;
    const c10::IValue* activation = ConstantOf(*node->input(kActivation));
    const c10::IValue* other = ConstantOf(*node->input(kOther));
    const bool bare = activation != nullptr && activation->toStringRef() == "none" && other != nullptr;
    return bare ? node : nullptr;
  }

  void Become(Node* node, Node* convolution) {
    node->output()->ReplaceAllUsesWith(convolution->output());
    node->Destroy();
    changed_ = true;
  }

  bool TryActivation(Node* node) {
    const std::string activation = EpilogueOf(*node, &OperatorDefinition::convolution_epilogue);
    if (activation.empty() || !MayMerge(*node)) return false;
    Node* convolution = BareConvolution(*node->input(0), *node);
    if (convolution == nullptr) return false;
    const InsertionGuard before(&graph_, convolution);
    convolution->ReplaceInput(kActivation, graph_.InsertConstant(activation));
    convolution->ReplaceInput(kParameters, graph_.InsertConstant(c10::List<double>()));
    Become(node, convolution);
    return true;
  }

  void TryAddition(Node* node) {
    const bool in_place = node->kind() == c10::aten::add_;
    if ((!in_place && node->kind() != c10::aten::add) || node->op() == nullptr) return;
    if (node->op()->schema().overload_name() != "Tensor") return;
    const c10::IValue* alpha = ConstantOf(*node->input(2));
    if (alpha == nullptr || !alpha->isInt() || alpha->toInt() != 1) return;
    if (in_place ? !private_.IsPrivateWrite(*node) : private_.IsShared(*node->output())) return;
    for (size_t i = 0; i < 2; ++i) {
      Value* other = node->input(1 - i);
      Node* convolution = BareConvolution(*node->input(i), *node);
      if (convolution == nullptr || !AreAlike(*convolution->output(), *other)) continue;
      // What it reads must still be there.
      if (facts_.memory().MayBeWritten(*convolution->input(0))) continue;
      convolution->MoveBefore(node);
      convolution->ReplaceInput(kOther, other);
      return Become(node, convolution);
    }
  }

  bool AreAlike(const Value& result, const Value& other) const {
    const ValueFacts& a = facts_.Of(result);
    const ValueFacts& b = facts_.Of(other);
    return a.sizes && a.sizes == b.sizes && std::ranges::all_of(*a.sizes, &KnownSize::is_known) && b.plain &&
           b.dtype == c10::kFloat && b.device == a.device && b.order.is_channels_last();
  }

  Graph& graph_;
  const ValueFactTable& facts_;
  const PrivateMemory private_;
  bool changed_ = false;
};

}  // namespace

bool FuseEpilogues(Compilation& compilation) {
  return Contains(*compilation.source().block(), kPackedConvolution) && Fuser(compilation).Run();
}

}  // namespace hearth
