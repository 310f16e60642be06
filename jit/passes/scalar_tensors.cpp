#include "jit/passes/scalar_tensors.h"

#include <ATen/core/jit_type.h>

#include <optional>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// The number that `node` takes out of a tensor that was made of it; null if it does something else.
Value* NumberBehind(const Node& node) {
  const Symbol kind = node.kind();
  const bool any = kind == c10::aten::ScalarImplicit || kind == c10::aten::item;
  const bool integral = kind == c10::aten::Int || kind == c10::aten::IntImplicit;
  const bool floating = kind == c10::aten::Float || kind == c10::aten::FloatImplicit;
  if ((!any && !integral && !floating) || node.inputs().size() != 1) return nullptr;
  const Node& maker = *node.input()->node();
  if (maker.kind() != c10::prim::NumToTensor) return nullptr;
  Value* number = maker.input();
  const c10::TypeKind type = number->type()->kind();
  const bool fits =
      ((any || integral) && type == c10::TypeKind::IntType) || ((any || floating) && type == c10::TypeKind::FloatType);
  return fits ? number : nullptr;
}

void Collect(const Block& block, std::vector<Node*>* nodes) {
  for (Node* node : block) {
    if (NumberBehind(*node) != nullptr) nodes->push_back(node);
    for (const Block* nested : node->blocks()) Collect(*nested, nodes);
  }
}

}  // namespace

bool ForwardScalarTensors(Compilation& compilation) {
  std::vector<Node*> candidates;
  Collect(*compilation.graph().block(), &candidates);
  if (candidates.empty()) return false;
  const AliasClasses& aliases = compilation.aliases();
  std::erase_if(candidates, [&](const Node* node) { return aliases.FactsOf(aliases.ClassOf(*node->input())).written; });
  for (Node* node : candidates) {
    node->output()->ReplaceAllUsesWith(NumberBehind(*node));
    node->Destroy();
  }
  return !candidates.empty();
}

}  // namespace hearth
