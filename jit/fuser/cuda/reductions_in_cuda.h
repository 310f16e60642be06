// The results of reducing loops. What a thread has of a result so far is its partial result, the variable p<result>: an
// element, or of an arg-reduction a First, the best element and its place. Where the rounds of the loop are spread over
// the threads of a warp or a block, their partial results become one in an order that depends on the number of threads
// alone; a block's threads hand theirs over in shared memory, partial<result>.
#pragma once

#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of all reductions right inside of a round that a block computes. Throws Unsupported where they are too many.
void DeclareSharedPartials(LoopCode& code);

// In this order; each for all of the loop's reductions. Loops without any have nothing to write.
void DeclarePartials(LoopCode& code, const Loop& loop);  // before the loop
void ReduceElements(LoopCode& code, const Loop& loop);   // at a round's end
// After the loop: where one thread computed all rounds; where several did, who all get the result.
void EmitResultsOfThread(LoopCode& code, const Loop& loop);
void EmitResultsOfThreads(LoopCode& code, const Loop& loop);

}  // namespace hearth::fuser
