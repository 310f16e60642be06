#include "jit/analysis/liveness.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "jit/analysis/aliases.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

// The node in `block`'s own list that holds `node`, or is it.
const Node* AncestorIn(const Block* block, const Node* node) {
  while (node->block() != block) node = node->block()->owner();
  return node;
}

// Where what `state` refers to is not needed for it any more.
const Node* EndOfReach(const Node* state) {
  const Node* node = state->next();
  while (node->kind() != sym::kFrameState && node->kind() != sym::kReturn) node = node->next();
  return node;
}

// Those that use the value, and where FrameStates that refer to it end.
std::vector<const Node*> UsersOf(const Value& value) {
  std::vector<const Node*> users;
  for (const Use& use : value.uses()) {
    users.push_back(use.user);
    if (use.user->kind() == sym::kFrameState) users.push_back(EndOfReach(use.user));
  }
  return users;
}

template <typename Key>
const std::vector<const Value*>& Lookup(const std::unordered_map<Key, std::vector<const Value*>>& map, Key key) {
  static const std::vector<const Value*> kNone;
  auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

// What the back-edge reads, whatever the body does with it.
bool IsCounter(const Value& value) {
  if (value.node()->kind() != sym::kParam) return false;
  const Node* around = value.node()->block()->owner();
  return around != nullptr && around->kind() == sym::kLoop && value.node()->output(0) == &value;
}

}  // namespace

// What is live, along a walk in program order; after a branch it is again as it was before.
class Liveness::Sweep {
 public:
  Sweep(const Liveness& liveness, std::span<const Node* const> places)
      : liveness_(liveness), places_(places.begin(), places.end()) {}

  void Visit(const Block& block) {
    for (const Value* param : block.params()) Add(param);
    for (const Node* node : block) {
      Reach(node);
      VisitNode(*node);
    }
    Reach(block.return_node());
  }

  std::unordered_map<const Node*, Values> TakeFound() { return std::move(found_); }

 private:
  struct ById {
    bool operator()(const Value* a, const Value* b) const { return a->id() < b->id(); }
  };

  void Reach(const Node* node) {
    RemoveAll(liveness_.DeadBefore(node));
    if (places_.contains(node)) found_.emplace(node, Values(live_.begin(), live_.end()));
  }

  void VisitNode(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (liveness_.DiesAt(input, &node)) Remove(input);
    }
    if (!IsClosure(node)) {
      for (const Block* block : node.blocks()) {
        const size_t before = changes_.size();
        RemoveAll(liveness_.DeadOnEntry(block));
        Visit(*block);
        Undo(before);
      }
    }
    RemoveAll(liveness_.EndsIn(&node));
    for (const Value* output : node.outputs()) Add(output);
  }

  void Add(const Value* value) {
    const Symbol kind = value->node()->kind();
    if (kind == sym::kConstant || kind == sym::kUninitialized || (!value->HasUses() && !IsCounter(*value))) return;
    if (live_.insert(value).second) changes_.emplace_back(value, true);
  }
  void Remove(const Value* value) {
    if (!IsCounter(*value) && live_.erase(value) != 0) changes_.emplace_back(value, false);
  }
  void RemoveAll(const Values& values) {
    for (const Value* value : values) Remove(value);
  }
  void Undo(size_t count) {
    for (; changes_.size() > count; changes_.pop_back()) {
      const auto [value, added] = changes_.back();
      if (added) {
        live_.erase(value);
      } else {
        live_.insert(value);
      }
    }
  }

  const Liveness& liveness_;
  const std::unordered_set<const Node*> places_;
  std::set<const Value*, ById> live_;
  std::vector<std::pair<const Value*, bool>> changes_;  // whether it was added
  std::unordered_map<const Node*, Values> found_;
};

class Liveness::Classes {
 public:
  Classes(const Liveness& liveness, const AliasClasses& aliases) : liveness_(liveness), aliases_(aliases) {}

  void Visit(const Block& block, bool in_closure) {
    for (const Value* param : block.params()) Add(*param, block, true);
    for (const Node* node : block) {
      for (const Value* output : node->outputs()) Add(*output, block, in_closure);
      for (const Block* inner : node->blocks()) Visit(*inner, in_closure || IsClosure(*node));
    }
  }

  std::unordered_map<size_t, ClassInterval> Take() { return std::move(intervals_); }

 private:
  void Add(const Value& value, const Block& block, bool from_elsewhere) {
    const size_t alias_class = aliases_.ClassOf(value);
    if (alias_class == AliasClasses::kNoMemory) return;
    ClassInterval& interval = intervals_[alias_class];
    if (interval.block == nullptr) interval.block = &block;
    interval.in_one_block = interval.in_one_block && interval.block == &block && !from_elsewhere;
    for (const Use& use : value.uses()) {
      if (use.user->kind() == sym::kReturn || IsClosure(*use.user)) interval.in_one_block = false;
    }
    if (!interval.in_one_block) return;
    const auto [begin, end] = liveness_.positions_.at(value.node());
    interval.begin = std::min(interval.begin, begin);
    interval.end = std::max(interval.end, end);
    if (!value.HasUses()) return;
    interval.end = std::max(interval.end, liveness_.positions_.at(liveness_.LastOf(block, UsersOf(value))).second);
  }

  const Liveness& liveness_;
  const AliasClasses& aliases_;
  std::unordered_map<size_t, ClassInterval> intervals_;
};

Liveness::Liveness(const Block& top) : top_(top) {
  last_user_.resize(top.graph()->value_id_bound(), nullptr);
  size_t next = 0;
  Number(top, next);
  ResolveBlock(top);
}

void Liveness::Number(const Block& block, size_t& next) {
  for (const Node* node : block) {
    const size_t begin = next++;
    if (!IsClosure(*node)) {
      for (const Block* inner : node->blocks()) Number(*inner, next);
    }
    positions_.emplace(node, std::pair(begin, next++));
  }
  positions_.emplace(block.return_node(), std::pair(next, next));
  ++next;
}

void Liveness::ResolveBlock(const Block& block) {
  const auto resolve = [&](const Value* value) {
    if (value->HasUses()) Resolve(value, block, UsersOf(*value));
  };
  for (const Value* param : block.params()) resolve(param);
  for (const Node* node : block) {
    LoadBudget::Check();
    for (const Value* output : node->outputs()) resolve(output);
    if (IsClosure(*node)) continue;
    for (const Block* inner : node->blocks()) ResolveBlock(*inner);
  }
}

// All of `users` lie in `block` or deeper.
const Node* Liveness::LastOf(const Block& block, const std::vector<const Node*>& users) const {
  const Node* last = nullptr;
  for (const Node* user : users) {
    const Node* ancestor = AncestorIn(&block, user);
    if (last == nullptr || positions_.at(ancestor) > positions_.at(last)) last = ancestor;
  }
  return last;
}

void Liveness::Resolve(const Value* value, const Block& block, const std::vector<const Node*>& users) {
  const Node* last = LastOf(block, users);
  if (last->blocks().empty() || IsClosure(*last)) {
    MarkDeath(value, last);
    return;
  }

  ends_in_[last].push_back(value);
  std::vector<const Node*> inside;
  for (const Node* user : users) {
    if (user != last && AncestorIn(&block, user) == last) inside.push_back(user);
  }
  if (last->kind() == sym::kLoop) {
    // The trip count is read at every back-edge.
    if (!inside.empty() || value == last->input(0)) {
      dead_after_[last].push_back(value);
    } else {
      MarkDeath(value, last);
    }
    return;
  }
  if (inside.empty()) {
    MarkDeath(value, last);
    return;
  }
  for (const Block* inner : last->blocks()) {
    std::vector<const Node*> in_branch;
    for (const Node* user : inside) {
      const Block* at = user->block();
      while (at->owner() != last) at = at->owner()->block();
      if (at == inner) in_branch.push_back(user);
    }
    if (in_branch.empty()) {
      dead_on_entry_[inner].push_back(value);
    } else {
      Resolve(value, *inner, in_branch);
    }
  }
}

void Liveness::MarkDeath(const Value* value, const Node* node) {
  const std::span<Value* const> inputs = node->inputs();
  if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) dead_before_[node].push_back(value);
  const Node*& slot = last_user_[value->id()];
  if (slot == nullptr) {
    slot = node;
  } else {
    more_last_users_[value].push_back(node);
  }
}

bool Liveness::DiesAt(const Value* value, const Node* node) const {
  const Node* last = last_user_[value->id()];
  if (last == node) return true;
  if (last == nullptr) return false;
  auto more = more_last_users_.find(value);
  return more != more_last_users_.end() &&
         std::find(more->second.begin(), more->second.end(), node) != more->second.end();
}

const std::vector<const Value*>& Liveness::DeadOnEntry(const Block* branch) const {
  return Lookup(dead_on_entry_, branch);
}
const std::vector<const Value*>& Liveness::DeadAfter(const Node* loop) const { return Lookup(dead_after_, loop); }
const std::vector<const Value*>& Liveness::DeadBefore(const Node* node) const { return Lookup(dead_before_, node); }
const std::vector<const Value*>& Liveness::EndsIn(const Node* node) const { return Lookup(ends_in_, node); }

std::unordered_map<const Node*, std::vector<const Value*>> Liveness::LiveBefore(
    std::span<const Node* const> places) const {
  Sweep sweep(*this, places);
  sweep.Visit(top_);
  return sweep.TakeFound();
}

std::unordered_map<size_t, Liveness::ClassInterval> Liveness::IntervalsOf(const AliasClasses& aliases) const {
  Classes classes(*this, aliases);
  classes.Visit(top_, /*in_closure=*/false);
  return classes.Take();
}

}  // namespace hearth
