// Removes what nobody needs: nodes whose outputs are not used and that have no effect, outputs of an If, values that a
// Loop carries and captures of a closure that nothing reads. A node has an effect if it writes memory that outlives the
// graph's run or that a needed node may read, draws random numbers, raises by design, prints, changes global state, or
// calls what may.
//
// Marks backwards from effects and outputs, over the alias classes of jit/analysis; linear. What goes might have
// raised, so no more goes than LibTorch removes: a loop stays if a round needs what the one before it computed or if
// its body decides when to end, a fork's arguments are computed, and what an object or a container held, or a tuple on
// its way from one function to another, is written to. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool EliminateDeadCode(Compilation& compilation);

// The same for a plan (frame_states.h): whatever throws in it sends the run to the baseline, which raises, so only what
// cannot throw goes, and no write but what fills a dict that the graph has made and nobody asks. What LibTorch removes
// though it might have raised is gone from the baseline already.
bool EliminateDeadPlanCode(Compilation& compilation);

}  // namespace hearth
