// Speculates on what a profile saw, behind guards (frame_states.h): a branch that was always taken one way is the
// code of that way; a number or string that callers always gave is a constant, and so is how often a loop goes round,
// if it can be unrolled then; what was always None, never None or always a Tensor is that; tensors of which no rule
// tells more have the dtype and rank that they always had; of two that an operator broadcasts, and of whose result
// somebody asks something, the sizes that were always 1, or always equal though they changed. Only where it pays: where
// more than a handful of nodes go, where what a branch gives becomes known, or where somebody asks what is now known.
//
// A guard stands right behind what it asks about, or behind the next place from where the baseline can do the work
// since once more; where there is none, nothing is speculated on. What it proves is a constant behind it, and not
// in the FrameStates before it. The walk has the facts of value_fact_table.h beside it, so what follows from facts
// is not guarded. Returns whether the graph changed; what can be folded now is left to fold_facts.
#pragma once

namespace hearth {

class Compilation;

// Of the compilation's claims (compiler/profile_claims.h). The report is given the numbers of the Values that would be
// guarded if the profile said so.
bool SpecializeProfile(Compilation& compilation);

}  // namespace hearth
