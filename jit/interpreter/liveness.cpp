#include "jit/interpreter/liveness.h"

#include <algorithm>
#include <span>

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

template <typename Key>
const std::vector<const Value*>& Lookup(const std::unordered_map<Key, std::vector<const Value*>>& map, Key key) {
  static const std::vector<const Value*> kNone;
  auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

}  // namespace

LastUses::LastUses(const Block& top) {
  last_user_.resize(top.graph()->value_id_bound(), nullptr);
  Number(top);
  ResolveBlock(top);
}

void LastUses::Number(const Block& block) {
  for (const Node* node : block) {
    order_.emplace(node, static_cast<uint32_t>(order_.size()));
    if (IsClosure(*node)) continue;
    for (const Block* inner : node->blocks()) Number(*inner);
  }
  order_.emplace(block.return_node(), static_cast<uint32_t>(order_.size()));
}

void LastUses::ResolveBlock(const Block& block) {
  std::vector<const Node*> users;
  const auto resolve = [&](const Value* value) {
    if (!value->HasUses()) return;
    users.clear();
    for (const Use& use : value->uses()) {
      users.push_back(use.user);
      if (use.user->kind() == sym::kFrameState) users.push_back(EndOfReach(use.user));
    }
    Resolve(value, &block, users);
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
void LastUses::Resolve(const Value* value, const Block* block, const std::vector<const Node*>& users) {
  const Node* last = nullptr;
  for (const Node* user : users) {
    const Node* ancestor = AncestorIn(block, user);
    if (last == nullptr || order_.at(ancestor) > order_.at(last)) last = ancestor;
  }
  if (last->blocks().empty() || IsClosure(*last)) {
    MarkDeath(value, last);
    return;
  }

  ends_in_[last].push_back(value);
  std::vector<const Node*> inside;
  for (const Node* user : users) {
    if (user != last && AncestorIn(block, user) == last) inside.push_back(user);
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
      Resolve(value, inner, in_branch);
    }
  }
}

void LastUses::MarkDeath(const Value* value, const Node* node) {
  const std::span<Value* const> inputs = node->inputs();
  if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) dead_before_[node].push_back(value);
  const Node*& slot = last_user_[value->id()];
  if (slot == nullptr) {
    slot = node;
  } else {
    more_last_users_[value].push_back(node);
  }
}

bool LastUses::DiesAt(const Value* value, const Node* node) const {
  const Node* last = last_user_[value->id()];
  if (last == node) return true;
  if (last == nullptr) return false;
  auto more = more_last_users_.find(value);
  return more != more_last_users_.end() &&
         std::find(more->second.begin(), more->second.end(), node) != more->second.end();
}

const std::vector<const Value*>& LastUses::DeadOnEntry(const Block* branch) const {
  return Lookup(dead_on_entry_, branch);
}
const std::vector<const Value*>& LastUses::DeadAfter(const Node* loop) const { return Lookup(dead_after_, loop); }
const std::vector<const Value*>& LastUses::DeadBefore(const Node* node) const { return Lookup(dead_before_, node); }
const std::vector<const Value*>& LastUses::EndsIn(const Node* node) const { return Lookup(ends_in_, node); }

}  // namespace hearth
