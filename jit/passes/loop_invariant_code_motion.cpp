#include "jit/passes/loop_invariant_code_motion.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/loop_entry.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class Hoister {
 public:
  explicit Hoister(Compilation& compilation) : compilation_(compilation), graph_(compilation.graph()) {
    Walk(*graph_.block());
    // At the end: what branches give is unknown to the analyses.
    for (const Inversion& inversion : inversions_) Invert(inversion);
  }
  bool changed() const { return changed_; }

 private:
  // A loop that is to stand in a branch, behind what came out of it.
  struct Inversion {
    Node* loop;
    std::vector<Node*> invariants;
  };

  void Walk(const Block& block) {
    for (Node* node : block) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->kind() == sym::kLoop) HoistOutOf(node);
    }
  }

  void HoistOutOf(Node* loop) {
    const Block& body = *loop->block(0);
    const c10::IValue* trips = ConstantOf(*loop->input(0));
    const bool never = trips != nullptr && trips->toInt() <= 0;
    if (never || Contains(body, sym::kStateStep)) return;
    const c10::IValue* start = ConstantOf(*loop->input(1));
    const bool may_fail = start != nullptr && start->toBool() && IsCovered(*loop);
    std::vector<Node*> invariants = FindInvariants(body, may_fail);
    if (invariants.empty()) return;
    for (Node* node : invariants) node->MoveBefore(loop);
    changed_ = true;
    if (std::ranges::none_of(invariants, [](const Node* node) { return MayThrow(*node); }) || SurelyBegins(*loop))
      return;
    stay_.insert(invariants.begin(), invariants.end());
    inversions_.push_back({loop, std::move(invariants)});
  }

  // In order.
  std::vector<Node*> FindInvariants(const Block& body, bool may_fail) const {
    std::vector<Node*> invariants;
    std::unordered_set<const Node*> found;
    for (Node* node : body) {
      if (stay_.contains(node) || (!may_fail && (node->kind() == sym::kGuard || MayThrow(*node)))) continue;
      const bool varies = std::ranges::any_of(node->inputs(), [&](const Value* input) {
        return input->node()->block() == &body && !found.contains(input->node());
      });
      if (varies || !MayMove(*node)) continue;
      found.insert(node);
      invariants.push_back(node);
    }
    return invariants;
  }

  bool MayMove(const Node& node) const {
    return node.kind() == sym::kConstant || node.kind() == sym::kGuard || compilation_.pure_nodes().IsPure(node);
  }

  // Whether there is a first round whenever the run comes to the loop, whose condition is true at its start.
  bool SurelyBegins(const Node& loop) const {
    const Value* trips = loop.input(0);
    ValueFactTable& facts = compilation_.facts();
    const std::optional<int64_t> least = facts.sizes().Least(facts.Of(*trips).number);
    if (least && *least > 0) return true;
    for (const Node* around = loop.block()->owner(); around != nullptr; around = around->block()->owner()) {
      if (around->kind() == sym::kLoop && around->input(0) == trips) return true;
    }
    return false;
  }

  void Invert(const Inversion& inversion) {
    Node* const loop = inversion.loop;
    const InsertionGuard at(&graph_, loop);
    graph_.SetCurrentRange(loop->range());
    Value* condition = HasFirstRound(graph_, *loop);
    Node* const end = BranchAroundLoop(graph_, loop, condition)->block(0)->return_node();
    for (Node* node : inversion.invariants) node->MoveBefore(end);
    loop->MoveBefore(end);
  }

  Compilation& compilation_;
  Graph& graph_;
  std::vector<Inversion> inversions_;     // inner loops first
  std::unordered_set<const Node*> stay_;  // go with a loop into its branch
  bool changed_ = false;
};

}  // namespace

bool MoveLoopInvariantCode(Compilation& compilation) { return Hoister(compilation).changed(); }

}  // namespace hearth
