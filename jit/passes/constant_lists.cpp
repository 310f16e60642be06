#include "jit/passes/constant_lists.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxConstantElements = 256;

bool IsLiteral(const Node& node) {
  if (node.kind() != sym::kListConstruct || node.inputs().size() > kMaxConstantElements) return false;
  if (HasMemory(*node.output()->type()->expectRef<c10::ListType>().getElementType())) return false;
  for (const Value* input : node.inputs()) {
    if (ConstantOf(*input) == nullptr) return false;
  }
  return true;
}

class ConstantLists {
 public:
  explicit ConstantLists(Compilation& compilation) : graph_(compilation.graph()) {
    FindLiterals(*graph_.block());
    if (literals_.empty()) return;
    const AliasClasses& aliases = compilation.aliases();
    std::erase_if(literals_, [&](const Node* node) {
      const AliasClasses::Facts& facts = aliases.FactsOf(aliases.ClassOf(*node->output()));
      return facts.written || facts.outlives();
    });
  }

  bool Run() {
    for (Node* node : literals_) {
      node->output()->ReplaceAllUsesWith(ConstantFor(*node));
    }
    for (Node* node : literals_) DestroyWithElements(node);
    return !literals_.empty();
  }

 private:
  // The block that gets the constant, the type of an element, and the inputs (by value id; equal scalars are one value
  // after specialisation).
  using Key = std::tuple<Block*, c10::TypeKind, std::vector<size_t>>;

  // Where a constant for `node` goes: the top of the closure around it, or of the graph.
  static Block* HomeOf(const Node& node) {
    Block* block = node.block();
    while (block->owner() != nullptr && !IsTask(*block->owner())) block = block->owner()->block();
    return block;
  }

  void FindLiterals(const Block& block) {
    for (Node* node : block) {
      if (IsLiteral(*node)) literals_.push_back(node);
      for (const Block* nested : node->blocks()) FindLiterals(*nested);
    }
  }

  static void DestroyWithElements(Node* node) {
    const std::vector<Value*> elements(node->inputs().begin(), node->inputs().end());
    node->Destroy();
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool again = std::find(elements.begin(), elements.begin() + i, elements[i]) != elements.begin() + i;
      if (!again && !elements[i]->HasUses()) elements[i]->node()->Destroy();
    }
  }

  Value* ConstantFor(const Node& node) {
    const TypePtr& element_type = node.output()->type()->expectRef<c10::ListType>().getElementType();
    Block* home = HomeOf(node);
    Key key{home, element_type->kind(), {}};
    for (const Value* input : node.inputs()) std::get<2>(key).push_back(input->id());
    // An Optional's element type is not told by its kind.
    const bool shareable = element_type->containedTypes().empty();
    Value** made = shareable ? &made_[key] : nullptr;
    if (made != nullptr && *made != nullptr) return *made;

    c10::impl::GenericList list(element_type);
    list.reserve(node.inputs().size());
    for (const Value* input : node.inputs()) list.push_back(*ConstantOf(*input));
    Node* constant = graph_.Create(sym::kConstant, {}, 1);
    constant->SetRange(node.range());
    constant->SetAttribute(sym::kValueAttr, c10::IValue(list));
    constant->output()->SetType(node.output()->type());
    home->Prepend(constant);
    if (made != nullptr) *made = constant->output();
    return constant->output();
  }

  Graph& graph_;
  std::vector<Node*> literals_;
  std::map<Key, Value*> made_;
};

}  // namespace

bool MakeConstantLists(Compilation& compilation) { return ConstantLists(compilation).Run(); }

}  // namespace hearth
