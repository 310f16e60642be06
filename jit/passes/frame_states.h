// Makes a plan of a baseline graph: a copy of it with a prim::FrameState node at each place where a plan that cannot go
// on hands its run to the baseline (analysis/anchors.h). Its inputs are the plan's Values for what the baseline has in
// its registers there.
//
// Passes see the inputs as uses like any others: what a FrameState needs is computed and kept.
//
// The frame states of Graal's intermediate representation (Duboscq, Würthinger, Mössenböck: Speculation without regret,
// 2014), which are attached to the last node with an effect.
#pragma once

namespace hearth {

class Compilation;

bool InsertFrameStates(Compilation& compilation);

}  // namespace hearth
