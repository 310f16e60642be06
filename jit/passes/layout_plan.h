// Which convolutions and copies of a graph change the order in memory of what they give, as choose_layouts.h says, and
// what follows from that: found before anything is changed.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "jit/definitions/convolution_call.h"
#include "jit/ir/graph.h"

namespace hearth {

class Compilation;
class PrivateMemory;

// What is to be changed.
struct LayoutChanges {
  std::vector<Node*> convolutions;  // of images, that get their weight channels-last
  std::vector<Node*> sequences;     // convolutions of sequences, that become ones of images of one row
  std::vector<Node*> norms;         // group norms of such sequences, that become ones of images of one row
  std::vector<Node*> copies;        // into the default order, of images that become or stay channels-last
  struct Reshape {
    Node* node;
    std::vector<int64_t> order;  // of the operand's dimensions: the batch, those of the pixels, those of the channels
    std::vector<int64_t> sizes;  // of the images: the batch, height, width, channels
  };
  std::vector<Reshape> reshapes;  // to images, of what has its channels within its pixels
  std::vector<Node*> to_arrange;  // those of them that may give another order all the same
  struct Pin {
    Node* user;
    size_t input;
  };
  std::vector<Pin> pins;  // operands that are to be in the baseline's order
};

struct LayoutPlan {
  LayoutChanges changes;
  // Convolutions whose results would be seen in an order that cannot be restored; where there are any, the changes are
  // not to be made.
  std::set<const Node*> regretted;
};

// `excluded`: nodes that stay as they are. `memory`: of the compilation's graph.
LayoutPlan PlanLayouts(Compilation& compilation, const PrivateMemory& memory, const std::set<const Node*>& excluded);

// That of a convolution's images or volumes.
at::MemoryFormat ChannelsLastFormatOf(const ConvolutionCall& call);

// Whether it gives a view that has, of any tensor with the same elements, the same ones.
bool IsRearrangement(const Node& node);

}  // namespace hearth
