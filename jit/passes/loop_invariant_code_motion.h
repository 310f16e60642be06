// What a loop computes anew in each round, though it is the same in all of them, is computed once before the loop.
//
// A node goes if it stands in the body itself (not under a branch there), is pure (pure_nodes.h), and has no input that
// is made in the loop. What may raise, and a guard, goes only where the loop's condition is true at its start and a
// FrameState holds before it: a plan that raises there falls back to the baseline, which does not raise if the trip
// count is 0 after all, so the most that it can cost is one bailout. Inner loops come first, so that what leaves one
// may leave the one around it. Nothing moves out of a loop in which the run takes up or gives back parts of the model's
// state. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool MoveLoopInvariantCode(Compilation& compilation);

}  // namespace hearth
