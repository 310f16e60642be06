// A guard that fails throws away what was done since the last FrameState, so it is to stand before the work and not
// behind it: between two FrameStates guards, and the cheap nodes that they ask, come as soon as what they need is
// there.
//
// Moved with a guard is what is pure (pure_nodes.h) and computes no tensor. What may raise does not pass a guard on its
// way, which may be why it does not raise; guards may pass one another. A list schedule of each stretch of a block that
// has no FrameState in it; all else keeps its order. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool MoveGuardsUp(Compilation& compilation);

}  // namespace hearth
