// Rounds of a loop at the top that are computed by one thread each. Where there is a vector plan (vector_plan.h), a
// thread of loop_<k> computes several rounds together, which load and store neighbours, if the buffers' memory is
// aligned:
//
//   const unsigned in_vectors = ...;                      how many rounds; 0 if memory is not aligned
//   for (... first = ...; first < in_vectors; ...) {      a thread's rounds are those from `first` on
//     loads of vectors
//     for (int part = 0; part < width; ++part) { ... }    one of the rounds
//     stores of vectors
//   }
//   for (... round = in_vectors + thread; ...) { ... }    what is left over, round by round
#pragma once

#include "jit/fuser/cuda/loop_code.h"

namespace hearth::fuser {

// Throws Unsupported for an operation that there is no expression for.
void EmitThreadRounds(LoopCode& code);

}  // namespace hearth::fuser
