#include "jit/passes/scalar_replacement.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <vector>

#include "jit/analysis/aliases.h"
#include "jit/analysis/state_accesses.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

using c10::ivalue::Object;

class Promotion {
 public:
  Promotion(StateSlot slot, const Object& self) : slot_(std::move(slot)), self_(self) {}

  // Whether every read of the attribute in `graph` follows an assignment, on every path.
  bool Suits(const Graph& graph) {
    bool assigned = false;
    return Follow(*graph.block(), &assigned);
  }

  // Of a graph that suits: reads become what was assigned, and the assignments go.
  void Run(Graph* graph) { Promote(*graph->block(), nullptr); }

  // Of a graph without reads.
  void RemoveAssignments(Block& block) {
    for (Node* node : block) {
      for (Block* nested : node->blocks()) RemoveAssignments(*nested);
      if (Is(*node, sym::kSetAttr)) node->Destroy();
    }
  }

 private:
  bool Is(const Node& node, Symbol kind) const {
    if (node.kind() != kind) return false;
    const Object* object = KnownObject(*node.input(0), &self_);
    return object == slot_.first && SlotOf(node, *object) == slot_;
  }

  bool Touches(const Block& block) const {
    for (const Node* node : block) {
      if (Is(*node, sym::kGetAttr) || Is(*node, sym::kSetAttr) || TouchesNested(*node)) return true;
    }
    return false;
  }
  bool TouchesNested(const Node& node) const {
    return std::ranges::any_of(node.blocks(), [&](const Block* block) { return Touches(*block); });
  }
  bool Assigns(const Block& block) const {
    for (const Node* node : block) {
      if (Is(*node, sym::kSetAttr)) return true;
      if (std::ranges::any_of(node->blocks(), [&](const Block* nested) { return Assigns(*nested); })) return true;
    }
    return false;
  }

  bool Follow(const Block& block, bool* assigned) {
    for (const Node* node : block) {
      LoadBudget::Check();
      if (Is(*node, sym::kGetAttr) && !*assigned) return false;
      if (Is(*node, sym::kSetAttr)) *assigned = true;
      if (node->blocks().empty()) continue;
      const Symbol kind = node->kind();
      if (kind == sym::kIf) {
        bool after[2] = {*assigned, *assigned};
        for (size_t i = 0; i < 2; ++i) {
          if (!Follow(*node->block(i), &after[i])) return false;
        }
        if (after[0] != after[1]) return false;
        *assigned = after[0];
      } else if (kind == sym::kLoop) {
        if (!*assigned && Assigns(*node->block(0))) return false;
        if (!Follow(*node->block(0), assigned)) return false;
      } else if (kind == sym::kWith) {
        if (!Follow(*node->block(0), assigned)) return false;
      } else if (TouchesNested(*node)) {
        return false;  // a closure, which runs when it likes
      }
    }
    return true;
  }

  // What the attribute holds after the block, if it holds `current` before.
  Value* Promote(Block& block, Value* current) {
    for (Node* node : block) {
      if (Is(*node, sym::kGetAttr)) {
        node->output()->ReplaceAllUsesWith(current);
        node->Destroy();
      } else if (Is(*node, sym::kSetAttr)) {
        current = node->input(1);
        node->Destroy();
      } else if (node->kind() == sym::kIf || node->kind() == sym::kWith) {
        current = PromoteBranches(node, current);
      } else if (node->kind() == sym::kLoop) {
        current = PromoteLoop(node, current);
      }
    }
    return current;
  }

  Value* PromoteBranches(Node* node, Value* current) {
    if (!TouchesNested(*node)) return current;
    const bool assigns = std::ranges::any_of(node->blocks(), [&](const Block* block) { return Assigns(*block); });
    for (Block* block : node->blocks()) {
      Value* after = Promote(*block, current);
      if (assigns) block->AddReturn(after);
    }
    return assigns ? node->AddOutput(type()) : current;
  }

  Value* PromoteLoop(Node* node, Value* current) {
    Block& body = *node->block(0);
    if (!Assigns(body)) {
      Promote(body, current);
      return current;
    }
    node->AddInput(current);
    body.AddReturn(Promote(body, body.AddParam(type())));
    return node->AddOutput(type());
  }

  TypePtr type() const { return slot_.first->type()->getAttribute(slot_.second); }

  const StateSlot slot_;
  const Object& self_;
};

void FindAssigned(const Block& block, const Object& self, std::vector<StateSlot>* slots) {
  for (const Node* node : block) {
    LoadBudget::Check();
    if (node->kind() == sym::kSetAttr) {
      if (const Object* object = KnownObject(*node->input(0), &self)) {
        const StateSlot slot = SlotOf(*node, *object);
        if (std::find(slots->begin(), slots->end(), slot) == slots->end()) slots->push_back(slot);
      }
    }
    for (const Block* nested : node->blocks()) FindAssigned(*nested, self, slots);
  }
}

bool IsLoaded(const Block& block, const StateSlot& slot, const Object& self) {
  for (const Node* node : block) {
    LoadBudget::Check();
    if (node->kind() == sym::kGetAttr && KnownObject(*node->input(0), &self) == slot.first &&
        SlotOf(*node, *slot.first) == slot) {
      return true;
    }
    for (const Block* nested : node->blocks()) {
      if (IsLoaded(*nested, slot, self)) return true;
    }
  }
  return false;
}

}  // namespace

bool ReplaceScratchAttributes(std::span<Graph* const> graphs, const Object& self, const UnitEffects& effects) {
  std::vector<StateSlot> slots;
  for (const Graph* graph : graphs) FindAssigned(*graph->block(), self, &slots);
  if (slots.empty()) return false;
  const std::vector<const Graph*> unchanged(graphs.begin(), graphs.end());
  const StateAccesses accesses(unchanged, self, effects);
  std::erase_if(slots, [&](const StateSlot& slot) { return !accesses.IsInSight(*slot.first); });
  bool changed = false;
  for (const StateSlot& slot : slots) {
    Promotion promotion(slot, self);
    const auto suits = [&](const Graph* graph) { return promotion.Suits(*graph); };
    const auto loads = [&](const Graph* graph) { return IsLoaded(*graph->block(), slot, self); };
    if (std::ranges::none_of(graphs, loads)) {
      for (Graph* graph : graphs) promotion.RemoveAssignments(*graph->block());
    } else if (std::ranges::all_of(graphs, suits)) {
      for (Graph* graph : graphs) promotion.Run(graph);
    } else {
      continue;
    }
    changed = true;
  }
  return changed;
}

bool ReplaceScratchAttributes(Compilation& compilation) {
  Graph* const graph = &compilation.graph();
  return ReplaceScratchAttributes(std::span(&graph, 1), *compilation.inputs().self, *compilation.effects());
}

}  // namespace hearth
