// A write to what was made since the last FrameState is no effect: a run that goes on from there makes it anew. Such a
// write needs no FrameState of its own, before it or after it, and neither do the branches and loops that act in no
// other way. Nor does a pure fork, or a wait for one (pure_forks.h).
//
// A FrameState before which nothing has acted since the one before it in its block goes as well: what acted there was
// in a branch that this plan does not take.
//
// So what stands between two effects that others can see becomes one piece that passes may rearrange, and nothing is
// kept alive for the places in it. What is written is private since a FrameState if none of the values that it refers
// to is in the same alias class, and no argument, constant, attribute or call is. Walks forward with the FrameState
// that holds; goes into control flow with what does not go as a whole. Returns whether the graph changed.
//
// The rule "anchors are the effects that are left" of benchmarks/experiments/bailout, for writes that stay writes.
#pragma once

namespace hearth {

class Compilation;

// The plan has FrameStates (frame_states.h).
bool ForgetPrivateWrites(Compilation& compilation);

}  // namespace hearth
