// What a loop computes anew in each round, though it is the same in all of them, is computed once before the loop.
//
// A node goes if it stands in the body itself (not under a branch there), is pure (pure_nodes.h), and has no input that
// is made in the loop. What may raise, and a guard, goes only where the loop's condition is true at its start and a
// FrameState holds before it. For a guard that is enough: if there is no round after all, one that fails costs a
// bailout. What may raise must not be computed then. Unless it is known that there is a round, it goes into a branch
// around the loop:
//
//   for i in range(n): x = a // b       if n > 0:
//                                         x = a // b
//                                         for i in range(n): ...
//
// Inner loops come first, so that what leaves one may leave the one around it. Nothing moves out of a loop in which the
// run takes up or gives back parts of the model's state. Returns whether the graph changed.
//
// Loop inversion (Muchnick, Advanced compiler design and implementation, 1997, 18.5).
#pragma once

namespace hearth {

class Compilation;

bool MoveLoopInvariantCode(Compilation& compilation);

}  // namespace hearth
