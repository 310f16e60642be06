// Loops that are known to run so many rounds become that many copies of their body, one after the other, each with its
// number as a constant.
//
// A loop is unrolled if its trip count is a constant, if no round but the last decides whether there is another, and if
// it is small: so many rounds and so many nodes at most (analysis/loop_size.cpp), or one round only. All the loops of a
// graph together add so many nodes at most. A loop is looked at before those in it, whose trip counts may depend on its
// round. The rounds' FrameStates need nothing special: each is a copy that refers to the round's own values, with the
// number as a constant. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool UnrollLoops(Compilation& compilation);

}  // namespace hearth
