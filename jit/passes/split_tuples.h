// Tuples that control flow hands on become their elements: what an If gives or a Loop carries as a tuple that is made
// in sight (in both branches, at the end of the body) is given and carried element by element, and put together again
// where it is used. Where it is only taken apart there, nobody makes a tuple any more (fold_facts, dead_code). What a
// branch that is left early leaves uninitialized, and what a loop begins with so, is uninitialized element by element.
//
// Inner control flow first, so that a tuple comes out through several levels. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SplitTuples(Compilation& compilation);

}  // namespace hearth
