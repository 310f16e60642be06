// Where each Value is used for the last time, over structured control flow. A Value that dies inside a loop it was not
// defined in dies after the loop instead, since the next iteration may read it.
//
// What a prim::FrameState refers to lives until the next one in its block, or the block's end: until then the run may
// still have to go on from there.
//
// Reads a valid Graph; the result refers to its nodes and is good until the Graph changes. Closures (prim::fork,
// prim::awaitable) are code of their own and are not looked into.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class LastUses {
 public:
  // `top` is a Graph's block or a closure's body.
  explicit LastUses(const Block& top);

  // Whether `node`, which has `value` as an input, is the last to use it on its path.
  bool DiesAt(const Value* value, const Node* node) const;
  // Values from outside that one branch of a prim::If does not use and nothing uses after.
  const std::vector<const Value*>& DeadOnEntry(const Block* branch) const;
  // Values that a prim::Loop's iterations read and nothing uses after.
  const std::vector<const Value*>& DeadAfter(const Node* loop) const;
  // Values that only FrameStates held so long and that are dead just before `node`, a prim::FrameState or a return
  // node.
  const std::vector<const Value*>& DeadBefore(const Node* node) const;
  // Values from outside that are dead once this control flow node has ended, wherever in it they die.
  const std::vector<const Value*>& EndsIn(const Node* node) const;

 private:
  void Number(const Block& block);
  void ResolveBlock(const Block& block);
  void Resolve(const Value* value, const Block* block, const std::vector<const Node*>& users);
  void MarkDeath(const Value* value, const Node* node);

  using Values = std::vector<const Value*>;
  std::unordered_map<const Node*, uint32_t> order_;
  std::vector<const Node*> last_user_;                                          // by Value id
  std::unordered_map<const Value*, std::vector<const Node*>> more_last_users_;  // in other branches
  std::unordered_map<const Block*, Values> dead_on_entry_;
  std::unordered_map<const Node*, Values> dead_after_;
  std::unordered_map<const Node*, Values> ends_in_;
  std::unordered_map<const Node*, Values> dead_before_;
};

}  // namespace hearth
