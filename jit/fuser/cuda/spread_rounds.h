// Rounds of a loop at the top that the threads of a warp or a block compute together. Instructions are computed by all
// of them alike, and stored by the first one. The rounds of the loops right inside are spread over the threads: in
// chunks where constants say how long the loops are (row_chunks.h), else each thread takes the next element. What is
// inside of those are loops of the thread. Where one statement loads or stores what another one stores, the threads
// meet in between.
#pragma once

#include "jit/fuser/cuda/loop_code.h"

namespace hearth::fuser {

// Throws Unsupported for a sequential loop right inside of a round, for more reductions than there is memory for, and
// for an operation that there is no expression for.
void EmitSpreadRounds(LoopCode& code);

}  // namespace hearth::fuser
