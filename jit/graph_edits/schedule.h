// What passes share that reorder the nodes of a block.
//
// A stretch is a part of a block in which nothing has an effect, so that its nodes may change places as long as each
// comes after what it needs.
#pragma once

#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

class PureNodes;

// Whether a stretch ends with the node: a FrameState, or what has one in its blocks.
bool EndsStretch(const Node& node);

// Moves `early`, which are nodes of the stretch from `begin` up to `end` and in order, up to where what they need is
// there; all else keeps its order. What may raise does not pass a guard among them that has to wait. Whether one has
// passed more than constants.
bool MoveUp(std::vector<Node*> early, Node* begin, const Node* end);

// Whether a node is pure and computes no tensor.
bool IsCheap(const Node& node, const PureNodes& pure);

// The node of `block` that `node` is or stands in; null if it is elsewhere.
Node* NodeIn(const Block& block, Node* node);

}  // namespace hearth
