#include "jit/passes/condition_elimination.h"

#include <optional>
#include <unordered_map>
#include <vector>

#include "jit/compiler/compilation.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

class Settler {
 public:
  explicit Settler(Graph& graph) : graph_(graph) { Walk(graph.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    const size_t before = learned_.size();
    for (Node* node : *block) {
      if (node->kind() == sym::kGuard) {
        VisitGuard(node);
      } else if (node->kind() == sym::kIf) {
        VisitIf(node);
      } else {
        if (node->kind() == sym::kLoop) Settle(node, 1);
        for (Block* inner : node->blocks()) Walk(inner);
      }
    }
    Forget(before);
  }

  void VisitGuard(Node* guard) {
    for (size_t i = guard->inputs().size(); i-- > 0;) {
      if (Known(*guard->input(i)) != true) continue;
      guard->RemoveInput(i);
      changed_ = true;
    }
    if (guard->inputs().empty()) return guard->Destroy();
    for (const Value* condition : guard->inputs()) Learn(*condition, true);
  }

  void VisitIf(Node* branch) {
    Settle(branch, 0);
    for (const bool holds : {true, false}) {
      const size_t before = learned_.size();
      Learn(*branch->input(), holds);
      Walk(branch->block(holds ? 0 : 1));
      Forget(before);
    }
  }

  void Settle(Node* node, size_t i) {
    if (node->input(i)->node()->kind() == sym::kConstant) return;
    const std::optional<bool> known = Known(*node->input(i));
    if (!known) return;
    const InsertionGuard at(&graph_, node);
    Value* constant = graph_.InsertConstant(*known);
    constant->node()->SetRange(node->range());
    node->ReplaceInput(i, constant);
    changed_ = true;
  }

  std::optional<bool> Known(const Value& condition) const {
    if (const auto found = known_.find(&condition); found != known_.end()) return found->second;
    const Node& node = *condition.node();
    if (node.kind() != c10::aten::__not__) return {};
    const auto found = known_.find(node.input());
    return found != known_.end() ? std::optional(!found->second) : std::nullopt;
  }

  void Learn(const Value& condition, bool holds) {
    if (condition.node()->kind() == sym::kConstant || !known_.emplace(&condition, holds).second) return;
    learned_.push_back(&condition);
    if (condition.node()->kind() == c10::aten::__not__) Learn(*condition.node()->input(), !holds);
  }

  void Forget(size_t until) {
    for (; learned_.size() > until; learned_.pop_back()) known_.erase(learned_.back());
  }

  Graph& graph_;
  std::unordered_map<const Value*, bool> known_;
  std::vector<const Value*> learned_;  // its keys, in order
  bool changed_ = false;
};

}  // namespace

bool EliminateConditions(Compilation& compilation) { return Settler(compilation.graph()).changed(); }

}  // namespace hearth
