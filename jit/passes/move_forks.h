// Lets a plan's own work and its forks run beside each other for as long as they can: pure forks (pure_forks.h) go up
// to where what they capture is there, and what gives that goes before other work; waits for them, and pure nodes that
// need what they give, go down to just before what cannot go with them.
//
// Both stay between the FrameStates around them, so that whatever fails first is done once more by the baseline, which
// raises what comes first there. A fork does not pass a guard nor code that raises by design either: both say that it
// may not be wanted. A wait does not go into a branch: its fork may raise, and where the branch is not taken nobody
// would be told.
//
// A fork with nothing to do beside it before its wait becomes the body itself: that is what the thread would wait for.
// A pure fork that nobody waits for goes.
//
// In each block, and in the bodies of pure forks; a list schedule. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

// The plan has FrameStates where there is something to go on from: private_writes has taken those of pure forks.
bool MoveForks(Compilation& compilation);

}  // namespace hearth
