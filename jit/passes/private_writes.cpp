#include "jit/passes/private_writes.h"

#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/anchors.h"
#include "jit/analysis/pure_forks.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsState(const Node& node) { return node.kind() == sym::kFrameState; }

bool IsAnchored(const Node& node) { return IsState(node) && node.attribute<int64_t>(sym::kAnchorAttr) != kNoAnchor; }

// Whether it acts in no other way than by writing memory.
bool OnlyWrites(const Node& node) {
  if (!node.blocks().empty() || node.kind() == sym::kStateStep) return false;
  const NodeEffects effects = EffectsOf(node);
  return effects.writes && !effects.random && !effects.seeds && !effects.acts && !effects.calls;
}

class Forgetter {
 public:
  explicit Forgetter(Compilation& compilation)
      : aliases_(compilation.memory().aliases()), forks_(compilation.pure_forks()), known_since_(aliases_.bound()) {}

  // `holds`: the FrameState at the start of the block; null if none does.
  void Walk(Block* block, const Node* holds) {
    // Whether something since that FrameState happens once, or may have a FrameState in it.
    bool acted = true;
    Enter(holds);
    for (Node* node = block->param_node()->next(); node != block->return_node();) {
      Node* next = node->next();
      if (IsAnchored(*node)) {
        if (acted) {
          holds = node;
          Enter(holds);
          acted = false;
        } else {
          Destroy(node);
        }
      } else if (holds != nullptr && ActsOnItsWay(*node) && IsPrivate(*node)) {
        next = Forget(node);
      } else if (!IsClosure(*node) && !node->blocks().empty()) {
        const bool begins_anew = node->kind() != sym::kIf;
        for (Block* inner : node->blocks()) Walk(inner, begins_anew ? nullptr : holds);
        // What stands after it has a FrameState of its own if something in it acts; if not, nothing has changed.
        Enter(holds);
        acted |= ActsOnItsWay(*node) || ContainsFrameState(*node);
      } else {
        acted |= ActsOnItsWay(*node) || IsState(*node);
      }
      node = next;
    }
  }

  bool changed() const { return changed_; }

 private:
  void Enter(const Node* state) {
    if (state == nullptr) return;
    ++epoch_;
    for (const Value* value : state->inputs()) {
      aliases_.ForEachReachable(aliases_.ClassOf(*value), [&](size_t reached) { known_since_[reached] = epoch_; });
    }
  }

  static bool ActsOnItsWay(const Node& node) {
    if (ActsOnce(node)) return true;
    if (IsClosure(node)) return false;
    for (const Block* block : node.blocks()) {
      for (const Node* inner : *block) {
        if (ActsOnItsWay(*inner)) return true;
      }
    }
    return false;
  }

  // Whether all that it does, in its blocks too, is to write what was made since the FrameState that holds, and to run
  // pure forks.
  bool IsPrivate(const Node& node) const {
    if (forks_.Contains(node)) return true;
    if (ActsOnce(node) && !(OnlyWrites(node) && WritesPrivately(node))) return false;
    if (IsClosure(node)) return false;
    for (const Block* block : node.blocks()) {
      for (const Node* inner : *block) {
        if (!IsState(*inner) && ActsOnItsWay(*inner) && !IsPrivate(*inner)) return false;
      }
    }
    return true;
  }

  bool WritesPrivately(const Node& node) const {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (!WritesInput(node, i)) continue;
      const size_t alias_class = aliases_.ClassOf(*node.input(i));
      if (alias_class == AliasClasses::kNoMemory) continue;
      const AliasClasses::Facts& facts = aliases_.FactsOf(alias_class);
      if (facts.state || facts.argument || facts.called || known_since_[alias_class] == epoch_) return false;
    }
    return true;
  }

  // What comes after the node and its FrameState.
  Node* Forget(Node* node) {
    Node* before = node->prev();
    if (IsState(*before) && !IsAnchored(*before)) Destroy(before);
    for (Block* block : node->blocks()) ForgetIn(block);
    Node* after = node->next();
    if (!IsAnchored(*after)) return after;
    Node* next = after->next();
    Destroy(after);
    return next;
  }

  void ForgetIn(Block* block) {
    for (Node* node : *block) {
      if (IsState(*node)) {
        Destroy(node);
      } else if (!IsClosure(*node)) {
        for (Block* inner : node->blocks()) ForgetIn(inner);
      }
    }
  }

  void Destroy(Node* node) {
    node->Destroy();
    changed_ = true;
  }

  const AliasClasses& aliases_;
  const PureForks& forks_;
  // By alias class: the last epoch at whose beginning the baseline had a value of it.
  std::vector<uint32_t> known_since_;
  uint32_t epoch_ = 0;  // of the FrameState that holds
  bool changed_ = false;
};

}  // namespace

bool ForgetPrivateWrites(Compilation& compilation) {
  Forgetter forgetter(compilation);
  forgetter.Walk(compilation.graph().block(), nullptr);
  return forgetter.changed();
}

}  // namespace hearth
