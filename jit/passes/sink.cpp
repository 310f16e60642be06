#include "jit/passes/sink.h"

#include <string_view>
#include <unordered_set>

#include "jit/analysis/aliases.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

const Symbol kFormat = Symbol::fromQualString("aten::format");

bool IsHarmless(Symbol symbol) {
  static const std::unordered_set<Symbol> kSymbols = [] {
    std::unordered_set<Symbol> symbols = {sym::kListConstruct, sym::kTupleConstruct};
    for (const char* name : {"aten::str", "aten::size", "aten::dim", "aten::len", "aten::eq", "aten::ne", "aten::lt",
                             "aten::le", "aten::gt", "aten::ge", "aten::__not__", "aten::__is__", "aten::__isnot__",
                             "aten::add", "prim::dtype", "prim::device", "prim::type"}) {
      symbols.insert(Symbol::fromQualString(name));
    }
    return symbols;
  }();
  return kSymbols.count(symbol) != 0;
}

// Whether a format has an argument for each of its places, so that it cannot fail.
bool IsCompleteFormat(const Node& node) {
  if (node.kind() != kFormat || node.inputs().empty()) return false;
  const c10::IValue* text = ConstantOf(*node.input(0));
  if (text == nullptr || !text->isString()) return false;
  size_t places = 0;
  const std::string_view format = text->toStringRef();
  for (size_t at = format.find("{}"); at != std::string_view::npos; at = format.find("{}", at + 2)) ++places;
  return places < node.inputs().size();
}

class Sinker {
 public:
  explicit Sinker(Compilation& compilation) : aliases_(compilation.aliases()) { Walk(compilation.graph().block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    for (Node* node = block->return_node()->prev(); node != block->param_node();) {
      LoadBudget::Check();
      Node* prev = node->prev();
      Block* branch = CanMove(*node) ? OnlyBranchUsing(*node) : nullptr;
      if (branch != nullptr) {
        node->MoveAfter(branch->param_node());
        changed_ = true;
      }
      node = prev;
    }
    // After the block itself, since what was moved may go deeper.
    for (Node* node : *block) {
      for (Block* nested : node->blocks()) Walk(nested);
    }
  }

  bool CanMove(const Node& node) const {
    if (!node.blocks().empty() || node.outputs().empty()) return false;
    if (!IsHarmless(node.kind()) && !IsCompleteFormat(node)) return false;
    if (node.op() != nullptr && !CannotFail(node)) return false;
    for (const Value* input : node.inputs()) {
      if (IsWritten(*input)) return false;
    }
    for (const Value* output : node.outputs()) {
      if (IsWritten(*output)) return false;
    }
    return true;
  }

  // Of the operators on the list those that compute on tensors are not cheap and may fail; of those that ask about
  // tensors, the ones that are told which dimension.
  static bool CannotFail(const Node& node) {
    static const Symbol kLen = Symbol::fromQualString("aten::len");
    if (EffectsOf(node).any()) return false;
    for (const Value* output : node.outputs()) {
      if (output->type()->kind() == c10::TypeKind::TensorType) return false;
    }
    if (node.inputs().size() == 1) {
      return node.kind() != kLen || node.input()->type()->kind() != c10::TypeKind::TensorType;
    }
    for (const Value* input : node.inputs()) {
      const bool plain = node.kind() == kFormat || !HasMemory(*input->type());
      if (!plain) return false;
    }
    return true;
  }

  bool IsWritten(const Value& value) const {
    const size_t alias_class = aliases_.ClassOf(value);
    return alias_class != AliasClasses::kNoMemory && aliases_.FactsOf(alias_class).written;
  }

  // The block of an If beside the node that all its uses are in; null if there is no such.
  static Block* OnlyBranchUsing(const Node& node) {
    Block* branch = nullptr;
    for (const Value* output : node.outputs()) {
      for (const Use& use : output->uses()) {
        Block* block = BlockBelow(use.user->block(), node.block());
        if (block == nullptr || block->owner()->kind() != sym::kIf || (branch != nullptr && block != branch)) {
          return nullptr;
        }
        branch = block;
      }
    }
    return branch;
  }

  // The block around `inner` (or itself) whose owner lies in `outer`; null if `inner` is `outer`.
  static Block* BlockBelow(Block* inner, const Block* outer) {
    if (inner == outer) return nullptr;
    while (inner->owner()->block() != outer) inner = inner->owner()->block();
    return inner;
  }

  const AliasClasses& aliases_;
  bool changed_ = false;
};

}  // namespace

bool SinkIntoBranches(Compilation& compilation) { return Sinker(compilation).changed(); }

}  // namespace hearth
