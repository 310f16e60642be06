// The first round of a loop comes out of it where it is unlike the others: where something that the loop carries is
// None before it and never None behind a round, and rounds ask for that; or where rounds ask whether they are the first
// (`if i == 0`). What is left of the loop asks no more, and what it carries has a narrower type.
//
//   for i in range(n):                  if n > 0:
//     if h is None: h = first()           h = first()
//     h = next(h)                         h = next(h)
//                                         for i in range(n - 1): h = next(h)
//
// The loop that is left carries the number of its round, of which the first is 1. FrameStates need nothing special:
// those of the first round are copies with the number 0, as when a loop is unrolled. Only loops of so many nodes
// (peel_loops.cpp), and each once. What is asked is left to fold_facts. Returns whether the graph changed.
//
// Loop peeling (Bacon, Graham, Sharp: Compiler transformations for high-performance computing, 1994).
#pragma once

namespace hearth {

class Compilation;

bool PeelLoops(Compilation& compilation);

}  // namespace hearth
