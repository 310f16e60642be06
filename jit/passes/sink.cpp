#include "jit/passes/sink.h"

#include <algorithm>
#include <string_view>

#include "jit/analysis/aliases.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

// Whether a format has an argument for each of its places, so that it cannot fail.
bool IsCompleteFormat(const Node& node) {
  if (node.kind() != c10::aten::format || node.inputs().empty()) return false;
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
    if (!IsCompleteFormat(node) && MayThrow(node)) return false;
    if (node.op() != nullptr ? !IsCheap(node) : !MakesContainer(node.kind())) return false;
    for (const Value* input : node.inputs()) {
      if (IsWritten(*input)) return false;
    }
    for (const Value* output : node.outputs()) {
      if (IsWritten(*output)) return false;
    }
    return true;
  }

  static bool MakesContainer(Symbol kind) { return kind == sym::kListConstruct || kind == sym::kTupleConstruct; }

  static bool IsCheap(const Node& node) {
    return !EffectsOf(node).any() && std::ranges::none_of(node.outputs(), [](const Value* output) {
      return output->type()->kind() == c10::TypeKind::TensorType;
    });
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
