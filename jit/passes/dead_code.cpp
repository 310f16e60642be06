#include "jit/passes/dead_code.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/effects.h"
#include "jit/analysis/views.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

enum class Keep { kWhatLibTorchKeeps, kWhatMayThrow };

class DeadCode {
 public:
  DeadCode(Compilation& compilation, Keep keep)
      : compilation_(compilation),
        graph_(compilation.graph()),
        effects_(compilation.effects()),
        keep_(keep),
        aliases_(compilation.aliases()),
        live_value_(graph_.value_id_bound()),
        live_class_(graph_.value_id_bound()),
        lost_(graph_.value_id_bound()),
        writers_(graph_.value_id_bound()) {}

  bool Run(std::span<const size_t> sent_in_tuples) {
    // Writers of every class must be known before the first value is marked.
    FindLost(*graph_.block(), {sent_in_tuples.begin(), sent_in_tuples.end()});
    FindRoots(*graph_.block());
    for (Node* root : roots_) MarkNode(root);
    for (Value* output : graph_.outputs()) MarkValue(output);
    while (!work_.empty()) {
      Node* node = work_.back();
      work_.pop_back();
      VisitLive(node);
    }
    Sweep(graph_.block());
    return changed_;
  }

 private:
  bool IsLive(const Node* node) const { return live_node_.count(node) != 0; }
  bool IsLive(const Value* value) const { return live_value_[value->id()]; }

  // What LibTorch's analysis has lost from sight: what an object or a container was given to hold, what was taken out
  // of one, and what stands in a tuple that was not taken apart where it was made.
  void FindLost(const Block& block, const std::unordered_set<size_t>& sent_in_tuples) {
    for (const Node* node : block) {
      if (node->kind() == sym::kSetAttr) MarkLost(*node->input(1));
      if (IsUsedTuple(*node)) {
        for (const Value* element : node->inputs()) MarkLost(*element);
      }
      for (const Value* output : node->outputs()) {
        if (sent_in_tuples.count(output->id()) != 0) MarkLost(*output);
      }
      if (const Operator* op = node->op()) {
        const std::vector<c10::Argument>& arguments = op->schema().arguments();
        const std::vector<c10::Argument>& returns = op->schema().returns();
        for (size_t i = 0; i < std::min(arguments.size(), node->inputs().size()); ++i) {
          if (IsLostAfter(arguments[i])) MarkLost(*node->input(i));
        }
        for (size_t i = 0; i < std::min(returns.size(), node->outputs().size()); ++i) {
          if (IsLostAfter(returns[i])) MarkLost(*node->output(i));
        }
      }
      for (const Block* nested : node->blocks()) FindLost(*nested, sent_in_tuples);
    }
  }

  // A tuple that somebody has beside tuples that nobody has.
  static bool IsUsedTuple(const Node& node) {
    return node.kind() == sym::kTupleConstruct && std::ranges::any_of(node.output()->uses(), [](const Use& use) {
             return use.user->kind() != sym::kTupleConstruct || IsUsedTuple(*use.user);
           });
  }

  static bool IsLostAfter(const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWildcardAfter();
  }

  void MarkLost(const Value& value) {
    const size_t alias_class = aliases_.ClassOf(value);
    if (alias_class != AliasClasses::kNoMemory) lost_[alias_class] = true;
  }

  void FindRoots(const Block& block) {
    for (Node* node : block) {
      LoadBudget::Check();
      if (keep_ == Keep::kWhatMayThrow && FillsUnread(*node)) continue;
      const NodeEffects own = EffectsOf(*node);
      if (own.random || own.acts || own.raises || (own.calls && CallActs(*node))) roots_.push_back(node);
      if (own.writes || own.calls) FindWrites(node);
      if (keep_ == Keep::kWhatMayThrow && (own.writes || MayThrowThere(*node))) roots_.push_back(node);
      if (node->kind() == sym::kLoop && MayRaiseOnItsWay(*node)) roots_.push_back(node);
      if (node->kind() == sym::kFrameState || node->kind() == sym::kGuard || node->kind() == sym::kStateStep) {
        roots_.push_back(node);
      }
      for (const Block* nested : node->blocks()) FindRoots(*nested);
    }
  }

  bool MayThrowThere(const Node& node) { return MayThrow(node) && !IsSoundView(node, compilation_.facts()); }

  // Whether the node puts something into a dict that the graph has made and that nobody asks.
  bool FillsUnread(const Node& node) {
    if (node.kind() != c10::aten::_set_item) return false;
    const Value* dict = node.input(0);
    const Symbol maker = dict->node()->kind();
    if (maker != c10::aten::dict && maker != sym::kDictConstruct) return false;
    const auto [found, is_new] = unread_.try_emplace(dict);
    if (is_new) {
      found->second = std::ranges::all_of(
          dict->uses(), [](const Use& use) { return use.user->kind() == c10::aten::_set_item && use.offset == 0; });
    }
    return found->second;
  }

  // Whether LibTorch keeps the loop though nobody reads what it gives: a round decides whether there is another, needs
  // what the one before it computed, or is left in the middle.
  static bool MayRaiseOnItsWay(const Node& loop) {
    if (loop.HasAttribute(sym::kContinuesAttr)) return true;
    const Block& body = *loop.block(0);
    for (size_t i = 1; i < body.params().size(); ++i) {
      if (body.params()[i]->HasUses()) return true;
    }
    const c10::IValue* goes_on = ConstantOf(*body.returns()[0]);
    if (goes_on != nullptr && goes_on->isBool() && !goes_on->toBool()) return true;
    std::unordered_set<const Node*> seen;
    return IsDecidedIn(body, *body.returns()[0], seen);
  }

  // A condition that is the same in every round is not decided there: it was known before the first.
  static bool IsDecidedIn(const Block& body, const Value& condition, std::unordered_set<const Node*>& seen) {
    const Node& node = *condition.node();
    if (node.block() != &body || !seen.insert(&node).second) return false;
    if (node.kind() == sym::kParam || !node.blocks().empty() || EffectsOf(node).any()) return true;
    for (const Value* input : node.inputs()) {
      if (IsDecidedIn(body, *input, seen)) return true;
    }
    return false;
  }

  bool CallActs(const Node& node) const {
    if (effects_ == nullptr) return true;
    const FunctionEffects callee = effects_->OfCall(node);
    return callee.random || callee.acts || callee.writes_constants || callee.writes;
  }

  void FindWrites(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const size_t written = aliases_.ClassOf(*node->input(i));
      if (written == AliasClasses::kNoMemory || !WritesInput(*node, i)) continue;
      // A write may raise, and LibTorch keeps it where it does not see what is written, though nobody sees that again.
      // That an object holds something needs no keeping.
      if (aliases_.FactsOf(written).outlives() || (lost_[written] && node->kind() != sym::kSetAttr)) {
        roots_.push_back(node);
      } else {
        writers_[written].push_back(node);
      }
    }
  }

  void MarkNode(Node* node) {
    if (live_node_.insert(node).second) work_.push_back(node);
  }

  void MarkValue(Value* value) {
    if (live_value_[value->id()]) return;
    live_value_[value->id()] = true;
    const size_t alias_class = aliases_.ClassOf(*value);
    if (alias_class != AliasClasses::kNoMemory && !live_class_[alias_class]) {
      live_class_[alias_class] = true;
      for (Node* writer : writers_[alias_class]) MarkNode(writer);
    }
    Node* node = value->node();
    if (node->kind() != sym::kParam) {
      MarkNode(node);
      MarkSources(node, value->offset());
    } else if (Node* owner = node->block()->owner()) {
      MarkNode(owner);
      MarkParamSources(owner, value->offset());
    }
  }

  // What output `i` of a live node comes from, beside the node's inputs.
  void MarkSources(Node* node, size_t i) {
    const Symbol kind = node->kind();
    if (kind == sym::kIf || kind == sym::kWith || IsTask(*node)) {
      for (Block* block : node->blocks()) MarkValue(block->returns()[i]);
    } else if (kind == sym::kLoop) {
      MarkCarried(node, i);
    }
  }

  void MarkParamSources(Node* owner, size_t i) {
    if (owner->kind() == sym::kLoop) {
      if (i > 0) MarkCarried(owner, i - 1);
    } else if (IsTask(*owner)) {
      MarkValue(owner->input(i));
    }
  }

  void MarkCarried(Node* loop, size_t i) {
    MarkValue(loop->output(i));
    MarkValue(loop->block(0)->param(i + 1));
    MarkValue(loop->block(0)->returns()[i + 1]);
    MarkValue(loop->input(i + 2));
  }

  void VisitLive(Node* node) {
    if (Node* owner = node->block()->owner()) MarkNode(owner);
    const Symbol kind = node->kind();
    if (IsTask(*node)) {
      // One that runs for its effects still has a result. What it captures is computed, and what it writes there is
      // written, whether or not somebody reads it: either may raise, and LibTorch keeps both.
      MarkValue(node->block(0)->returns()[0]);
      for (Value* input : node->inputs()) MarkValue(input);
      return;
    }
    if (kind == sym::kLoop) {
      MarkValue(node->input(0));
      MarkValue(node->input(1));
      MarkValue(node->block(0)->returns()[0]);
      for (size_t i = 1; i < node->block(0)->params().size(); ++i) {
        if (node->block(0)->params()[i]->HasUses()) MarkCarried(node, i - 1);
      }
      return;
    }
    for (Value* input : node->inputs()) MarkValue(input);
  }

  // Last to first, so that the users of a dead value go before it.
  void Sweep(Block* block) {
    for (Node* node = block->return_node()->prev(); node != block->param_node();) {
      Node* prev = node->prev();
      if (IsLive(node)) {
        SweepInside(node);
      } else {
        changed_ = true;
        node->Destroy();
      }
      node = prev;
    }
  }

  void SweepInside(Node* node) {
    if (node->blocks().empty()) return;
    const Symbol kind = node->kind();
    const bool loop = kind == sym::kLoop;
    if (loop || kind == sym::kIf || kind == sym::kWith) {
      for (size_t i = node->outputs().size(); i-- > 0;) {
        if (IsLive(node->output(i))) continue;
        for (Block* block : node->blocks()) block->RemoveReturn(loop ? i + 1 : i);
      }
    }
    for (Block* block : node->blocks()) Sweep(block);
    if (loop || kind == sym::kIf || kind == sym::kWith) {
      for (size_t i = node->outputs().size(); i-- > 0;) {
        if (IsLive(node->output(i))) continue;
        changed_ = true;
        node->RemoveOutput(i);
        if (!loop) continue;
        node->block(0)->RemoveParam(i + 1);
        node->RemoveInput(i + 2);
      }
    } else {
      // A closure.
      for (size_t i = node->inputs().size(); i-- > 0;) {
        if (IsLive(node->block(0)->param(i))) continue;
        changed_ = true;
        node->block(0)->RemoveParam(i);
        node->RemoveInput(i);
      }
    }
  }

  Compilation& compilation_;
  Graph& graph_;
  const UnitEffects* effects_;
  const Keep keep_;
  const AliasClasses& aliases_;
  std::vector<bool> live_value_;             // by value id
  std::vector<bool> live_class_;             // by alias class
  std::vector<bool> lost_;                   // by alias class
  std::vector<std::vector<Node*>> writers_;  // by alias class
  std::unordered_set<const Node*> live_node_;
  std::unordered_map<const Value*, bool> unread_;  // dicts, whether nobody asks them
  std::vector<Node*> roots_;
  std::vector<Node*> work_;
  bool changed_ = false;
};

}  // namespace

bool EliminateDeadCode(Compilation& compilation) {
  return DeadCode(compilation, Keep::kWhatLibTorchKeeps).Run(compilation.sent_in_tuples());
}

bool EliminateDeadPlanCode(Compilation& compilation) { return DeadCode(compilation, Keep::kWhatMayThrow).Run({}); }

}  // namespace hearth
