// Anchors: the places of a baseline where a plan that cannot go on hands its run over, and the prim::FrameState nodes
// of a plan that stand for them (passes/frame_states.h puts them there).
//
// Each FrameState holds from where it stands to the next one in its block, nested blocks included: whatever fails in
// between (a guard, an operator that throws) sends the run back to that place of the baseline, which does the work
// since then once more. So every node with an effect is followed by one, as is control flow that contains such a node,
// and a loop whose body has one begins each round with one. Before such a node stands a FrameState with the anchor
// kNoAnchor: what it throws is the model's own error, for an effect must not happen twice.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/analysis/liveness.h"
#include "jit/ir/graph.h"

namespace hearth {

inline constexpr int64_t kNoAnchor = -1;

// Whether the node itself, whatever is in its blocks, must run exactly once. An exception by design is no reason: the
// baseline raises it.
bool ActsOnce(const Node& node);

// The anchors that a plan of `baseline` needs, given what is live in it; the attribute `anchor` of a FrameState is an
// index into them.
std::vector<ResumePlace> FindAnchors(const Graph& baseline, const Liveness& liveness);

// Whether there is a FrameState in the blocks of the node, however deep.
bool ContainsFrameState(const Node& node);

// Whether a FrameState to go on from holds right before `place`, so that a guard may stand there.
bool IsCovered(const Node& place);

}  // namespace hearth
