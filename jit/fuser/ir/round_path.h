// Which rounds of parallel loops a statement runs in, to tell whether two statements may run at the same time: they may
// if they are in different rounds of one run of a loop. Rounds of sequential loops are no part of the path: what is in
// one comes before what is in the next.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace hearth::fuser {

// A round of a parallel or reduce loop; null is outside of all.
struct ParallelRound {
  std::shared_ptr<const ParallelRound> outer;
  int depth = 0;
  uint64_t loop_run = 0;  // another one each time that a loop begins
  int64_t index = 0;
};

using RoundPath = std::shared_ptr<const ParallelRound>;

inline RoundPath RoundInside(RoundPath outer, uint64_t loop_run, int64_t index) {
  const int depth = outer == nullptr ? 1 : outer->depth + 1;
  return std::make_shared<const ParallelRound>(ParallelRound{std::move(outer), depth, loop_run, index});
}

inline bool MayRunAtTheSameTime(const ParallelRound* a, const ParallelRound* b) {
  if (a == nullptr || b == nullptr) return false;
  while (a->depth > b->depth) a = a->outer.get();
  while (b->depth > a->depth) b = b->outer.get();
  // Up to where the paths part.
  while (a != b && a->outer != b->outer) {
    a = a->outer.get();
    b = b->outer.get();
  }
  return a != b && a->loop_run == b->loop_run;
}

}  // namespace hearth::fuser
