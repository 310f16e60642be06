#include "jit/passes/functionalize_sizes.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/definitions/in_place_forms.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/taken_number.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Arithmetic that gives ints of ints, written into its first operand.
bool IsArithmeticInPlace(const Node& node) {
  const Symbol kind = node.kind();
  return (kind == c10::aten::add_ || kind == c10::aten::sub_ || kind == c10::aten::mul_ ||
          kind == c10::aten::floor_divide_ || kind == c10::aten::remainder_) &&
         node.op() != nullptr;
}

class Walker {
 public:
  explicit Walker(Graph& graph) : graph_(graph) {}

  bool Walk(Block& block) {
    bool changed = false;
    for (auto it = block.begin(); it != block.end();) {
      Node* node = *it;
      ++it;
      for (Block* nested : node->blocks()) changed |= Walk(*nested);
      seen_.insert(node);
      changed |= IsArithmeticInPlace(*node) && Replace(node);
    }
    return changed;
  }

 private:
  // Whether it is a tensor of one int that only its users know.
  bool IsSize(const Value& value) const {
    const Node& maker = *value.node();
    return made_.contains(&value) || (maker.kind() == c10::prim::NumToTensor && IsInt(*maker.input()));
  }

  static bool IsInt(const Value& value) { return value.type()->kind() == c10::TypeKind::IntType; }

  bool IsIntOrSize(const Value& value) const {
    const c10::IValue* constant = ConstantOf(value);
    if (constant == nullptr || !constant->isTensor()) return IsInt(value) || IsSize(value);
    const at::Tensor& tensor = constant->toTensor();
    return tensor.defined() && tensor.layout() == at::kStrided && tensor.dim() == 0 &&
           c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
  }

  // Whether the node that writes the size is the last to see it, and those before it only took its number.
  bool IsLastUser(const Node& node) const {
    const Value& size = *node.input(0);
    return size.node()->block() == node.block() && std::ranges::all_of(size.uses(), [&](const Use& use) {
             if (use.user == &node) return use.offset == 0;
             return seen_.contains(use.user) && TakenNumberOf(*use.user) != TakenNumber::kNone;
           });
  }

  bool Replace(Node* node) {
    const bool fits = IsSize(*node->input(0)) && IsIntOrSize(*node->input(1)) && IsLastUser(*node);
    const Operator* form = fits ? FunctionalForm(*node->op()) : nullptr;
    if (form == nullptr) return false;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
    Value* made = OperateInstead(graph_, *form, inputs, *node);
    made_.insert(made);
    seen_.insert(made->node());
    seen_.erase(node);
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    return true;
  }

  Graph& graph_;
  std::unordered_set<const Node*> seen_;
  std::unordered_set<const Value*> made_;
};

}  // namespace

bool FunctionalizeSizes(Compilation& compilation) {
  return Walker(compilation.graph()).Walk(*compilation.graph().block());
}

}  // namespace hearth
