// The places where a plan that cannot go on hands its run to the baseline.
//
// A plan begins as a copy of the baseline graph with prim::FrameState nodes in it. Each stands for one place (an
// anchor) of the baseline, and its inputs are the plan's Values for what the baseline has in its registers there. It
// holds from where it stands to the next one in its block, nested blocks included: whatever fails in between (a guard,
// an operator that throws) sends the run back to that place of the baseline, which does the work since then once more.
// So every node with an effect is followed by a FrameState of its own, as is control flow that contains one, and a loop
// whose body has one begins each round with one. Before such a node stands a FrameState with the anchor kNoAnchor: what
// it throws is the model's own error, for an effect must not happen twice.
//
// Passes see the inputs as uses like any others: what a FrameState needs is computed and kept.
//
// The frame states of Graal's intermediate representation (Duboscq, Würthinger, Mössenböck: Speculation without regret,
// 2014), which are attached to the last node with an effect.
#pragma once

#include <memory>
#include <vector>

#include "jit/analysis/live_values.h"
#include "jit/ir/graph.h"

namespace hearth {

class Compilation;

inline constexpr int64_t kNoAnchor = -1;

// Whether the node itself, whatever is in its blocks, must run exactly once. An exception by design is no reason: the
// baseline raises it.
bool ActsOnce(const Node& node);

// The anchors that a plan of `baseline` needs; the attribute `anchor` of a FrameState is an index into them.
std::vector<ResumePlace> FindAnchors(const Graph& baseline);

// A copy of `baseline` with its FrameStates. `anchors` are FindAnchors' of the same graph.
std::unique_ptr<Graph> CloneWithFrameStates(const Graph& baseline, const std::vector<ResumePlace>& anchors);

// The pass: such a copy in the place of the compilation's graph, with the anchors that it was given.
bool InsertFrameStates(Compilation& compilation);

// Whether there is one in the blocks of the node, however deep.
bool ContainsFrameState(const Node& node);

// Whether a FrameState to go on from holds right before `place`, so that a guard may stand there.
bool IsCovered(const Node& place);

}  // namespace hearth
