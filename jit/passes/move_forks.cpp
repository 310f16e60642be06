#include "jit/passes/move_forks.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/analysis/anchors.h"
#include "jit/analysis/pure_forks.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/compiler/compilation.h"
#include "jit/graph_edits/schedule.h"
#include "jit/ir/closure.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Whether what comes after the node may not be wanted.
bool Decides(const Node& node) {
  const auto decides = [](const Node& one) { return one.kind() == sym::kGuard || one.kind() == sym::kRaiseException; };
  if (IsClosure(node)) return false;
  return decides(node) ||
         std::ranges::any_of(node.blocks(), [&](const Block* block) { return AnyNode(*block, decides); });
}

// The nodes of a stretch that are put off: waits, and what needs what they give.
class Delayed {
 public:
  Delayed(const Block& block, bool* changed) : block_(block), changed_(changed) {}

  bool Needs(const Node* node) const { return users_.count(node) != 0; }

  void Add(Node* node) {
    nodes_.push_back(node);
    for (const Value* output : node->outputs()) {
      for (const Use& use : output->uses()) users_.insert(NodeIn(block_, use.user));
    }
  }

  // Puts those before `place` that it needs, or all of them.
  void Release(Node* place, bool all) {
    std::unordered_set<const Node*> needed = {place};
    std::vector<Node*> released;
    for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) {
      const bool needs = all || std::ranges::any_of((*at)->outputs(), [&](const Value* output) {
                           return std::ranges::any_of(output->uses(), [&](const Use& use) {
                             return needed.count(NodeIn(block_, use.user)) != 0;
                           });
                         });
      if (!needs) continue;
      needed.insert(*at);
      released.push_back(*at);
    }
    for (Node* node : released) {
      *changed_ |= node->next() != place;
      node->MoveBefore(place);
      std::erase(nodes_, node);
      place = node;
    }
  }

 private:
  const Block& block_;
  bool* const changed_;
  std::vector<Node*> nodes_;  // in order
  std::unordered_set<const Node*> users_;
};

class ForkMover {
 public:
  explicit ForkMover(Compilation& compilation) : forks_(compilation.pure_forks()), pure_(compilation.pure_nodes()) {
    Walk(*compilation.graph().block(), false);
  }
  bool changed() const { return changed_; }

 private:
  // `in_fork`: whatever is raised is seen by who waits for a pure fork.
  void Walk(const Block& block, bool in_fork) {
    Node* begin = block.param_node()->next();
    for (Node* node = begin; node != block.return_node(); node = node->next()) {
      const bool pure_fork = forks_.Contains(*node);
      if (!IsClosure(*node) || pure_fork) {
        for (const Block* inner : node->blocks()) Walk(*inner, in_fork || pure_fork);
      }
      if (!EndsStretch(*node)) continue;
      Schedule(begin, node, in_fork);
      begin = node->next();
    }
    Schedule(begin, block.return_node(), in_fork);
  }

  // The nodes from `begin` up to `end`.
  void Schedule(Node* begin, Node* end, bool in_fork) {
    const auto has_forks = [&] {
      for (const Node* node = begin; node != end; node = node->next()) {
        if (forks_.Contains(*node)) return true;
      }
      return false;
    };
    if (!has_forks() || !(in_fork || IsCovered(*begin))) return;
    Node* const before = begin->prev();
    // First those that are ready soon, so that they do not stand behind what another one needs.
    for (const bool only_cheap : {true, false}) MoveForksUp(before->next(), end, only_cheap);
    DelayWaits(before->next(), end);
    for (Node* node = end->prev(); node != before;) {
      Node* const prev = node->prev();
      if (node->kind() == sym::kFork && forks_.Contains(*node)) RunInPlace(node);
      node = prev;
    }
  }

  void MoveForksUp(Node* begin, const Node* end, bool only_cheap) {
    for (Node* node = begin; node != end;) {
      Node* const next = node->next();
      if (Decides(*node)) {
        changed_ |= MoveUp(FindEarly(begin, node, only_cheap), begin, node);
        begin = next;
      }
      node = next;
    }
    changed_ |= MoveUp(FindEarly(begin, end, only_cheap), begin, end);
  }

  // Forks, and what they need that may go with them, in order.
  std::vector<Node*> FindEarly(const Node* begin, const Node* end, bool only_cheap) const {
    if (begin == end) return {};
    std::unordered_set<const Node*> asked;
    std::vector<Node*> early;
    bool forks = false;
    for (Node* node = end->prev(); node != begin->prev(); node = node->prev()) {
      const bool fork = node->kind() == sym::kFork && forks_.Contains(*node);
      const bool asks = asked.count(node) != 0 && (IsCheap(*node, pure_) || (!only_cheap && pure_.MayMove(*node)));
      if (!fork && !asks) continue;
      forks |= fork;
      early.push_back(node);
      for (const Value* input : node->inputs()) asked.insert(input->node());
    }
    std::ranges::reverse(early);
    return forks ? early : std::vector<Node*>();
  }

  bool IsWait(const Node& node) const { return node.kind() != sym::kFork && forks_.Contains(node); }

  void DelayWaits(Node* begin, Node* end) {
    Delayed delayed(*end->block(), &changed_);
    for (Node* node = begin; node != end;) {
      Node* const next = node->next();
      if (IsWait(*node) || (delayed.Needs(node) && pure_.MayMove(*node))) {
        delayed.Add(node);
      } else if (delayed.Needs(node)) {
        delayed.Release(node, false);
      }
      node = next;
    }
    delayed.Release(end, true);
  }

  void RunInPlace(Node* fork) {
    Value* const future = fork->output();
    if (future->HasUses()) {
      if (future->uses().size() != 1) return;
      Node* const wait = future->uses()[0].user;
      if (!IsWait(*wait) || wait->block() != fork->block()) return;
      for (const Node* node = fork->next(); node != wait; node = node->next()) {
        if (node->kind() != sym::kGuard && !IsWait(*node) && !IsCheap(*node, pure_)) return;
      }
      Block& body = *fork->block(0);
      for (size_t i = 0; i < body.params().size(); ++i) body.param(i)->ReplaceAllUsesWith(fork->input(i));
      for (Node* node : body) node->MoveBefore(fork);
      wait->output()->ReplaceAllUsesWith(body.returns()[0]);
      wait->Destroy();
    }
    fork->Destroy();
    changed_ = true;
  }

  const PureForks& forks_;
  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool MoveForks(Compilation& compilation) { return ForkMover(compilation).changed(); }

}  // namespace hearth
