// When each Value of a block is needed, over structured control flow: where it is used for the last time on each way,
// what is live at a place, and from when to when a class of aliases is in use.
//
// What a loop's body reads from outside lives until the loop has ended, since the next iteration may read it, and so
// does the loop's trip limit. What a prim::FrameState refers to lives until the next one in its block, or the block's
// end: until then the run may still have to go on from there.
//
// Reads a valid Graph; the result refers to its nodes and is good until the Graph changes. Closures (prim::fork,
// prim::awaitable, prim::Arena) are code of their own and are not looked into: what they capture is an input of theirs.
//
// Last uses are resolved Value by Value, each from the outermost block inwards; what is live at places follows from
// them in one walk in program order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class AliasClasses;

// A place of a graph where a run can be taken up.
struct ResumePlace {
  const Node* node;                // what runs next
  std::vector<const Value*> live;  // what must be there
};

class Liveness {
 public:
  // `top` is a Graph's block or a closure's body.
  explicit Liveness(const Block& top);

  // ---- Where a Value dies ----
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

  // ---- What is live at a place ----
  // For each of `places`, nodes outside of closures: the Values that are read from there on, on any way to the end, and
  // what the loops around the place need for their next round (trip count, trip limit, carried Values). In order of
  // their ids, without constants.
  std::unordered_map<const Node*, std::vector<const Value*>> LiveBefore(std::span<const Node* const> places) const;

  // ---- From when to when ----
  // Positions in program order; those of a node with blocks are around those of what is in them.
  struct Interval {
    size_t begin = SIZE_MAX;
    size_t end = 0;
    bool Meets(const Interval& other) const { return begin <= other.end && other.begin <= end; }
    bool operator==(const Interval&) const = default;
  };
  struct ClassInterval : Interval {
    // All of the class's Values are made by nodes of one block, and neither a block's return nor a closure has any of
    // them: what they share is in use within the interval and at no other time.
    bool in_one_block = true;
    const Block* block = nullptr;
  };
  // By class of aliases. Of all that has memory.
  std::unordered_map<size_t, ClassInterval> IntervalsOf(const AliasClasses& aliases) const;

 private:
  class Sweep;
  class Classes;

  void Number(const Block& block, size_t& next);
  void ResolveBlock(const Block& block);
  void Resolve(const Value* value, const Block& block, const std::vector<const Node*>& users);
  void MarkDeath(const Value* value, const Node* node);
  const Node* LastOf(const Block& block, const std::vector<const Node*>& users) const;

  using Values = std::vector<const Value*>;
  const Block& top_;
  std::unordered_map<const Node*, std::pair<size_t, size_t>> positions_;        // where it begins and ends
  std::vector<const Node*> last_user_;                                          // by Value id
  std::unordered_map<const Value*, std::vector<const Node*>> more_last_users_;  // in other branches
  std::unordered_map<const Block*, Values> dead_on_entry_;
  std::unordered_map<const Node*, Values> dead_after_;
  std::unordered_map<const Node*, Values> ends_in_;
  std::unordered_map<const Node*, Values> dead_before_;
};

}  // namespace hearth
