#include "jit/passes/fuse_epilogues.h"

#include <string>

#include "jit/analysis/private_memory.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Operands of hearth::convolution.
constexpr size_t kActivation = 9;
constexpr size_t kParameters = 10;

class Fuser {
 public:
  explicit Fuser(Compilation& compilation)
      : graph_(compilation.graph()), private_(graph_, compilation.memory().aliases()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) Walk(nested);
      TryActivation(node);
    }
  }

  // Whether what the node gives may be what the convolution before it gives.
  bool MayMerge(const Node& node) const { return private_.IsPrivateWrite(node) || !private_.IsShared(*node.output()); }

  // The convolution that gives `value` to `user` alone and does nothing more so far; null if there is none.
  static Node* BareConvolution(const Value& value, const Node& user) {
    Node* node = value.node();
    if (node->kind() != sym::kPackedConvolution || node->block() != user.block() || value.uses().size() != 1)
      return nullptr;
    const c10::IValue* activation = ConstantOf(*node->input(kActivation));
    return activation != nullptr && activation->toStringRef() == "none" ? node : nullptr;
  }

  void TryActivation(Node* node) {
    const std::string activation = EpilogueOf(*node, &OperatorDefinition::convolution_epilogue);
    if (activation.empty() || !MayMerge(*node)) return;
    Node* convolution = BareConvolution(*node->input(0), *node);
    if (convolution == nullptr) return;
    const InsertionGuard before(&graph_, convolution);
    convolution->ReplaceInput(kActivation, graph_.InsertConstant(activation));
    convolution->ReplaceInput(kParameters, graph_.InsertConstant(c10::List<double>()));
    node->output()->ReplaceAllUsesWith(convolution->output());
    node->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  const PrivateMemory private_;
  bool changed_ = false;
};

}  // namespace

bool FuseEpilogues(Compilation& compilation) {
  return Contains(*compilation.source().block(), sym::kPackedConvolution) && Fuser(compilation).Run();
}

}  // namespace hearth
