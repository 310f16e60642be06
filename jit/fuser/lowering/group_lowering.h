// Makes a kernel of a group of a plan's nodes, by the scalar and row rules of their definitions.
//
// All results of a group have the same sizes and lie in memory in the same order: that is the space which the kernel's
// loops go through, in the order of the memory. The values between have the same sizes; how they would lie in memory
// is of no concern. Inputs have the same sizes, or one element where they are broadcast, and may be parts of tensors,
// whose strides the kernel is given; where facts do not tell whether two sizes that are more than 1 are the same, the
// kernel's call does. Dimensions that lie one after the other in all of them become one; the innermost is a loop of its
// own, all others together are the loop at the top.
//
// Where nodes of the group depend on whole rows, these are the innermost dimension of them all: a round of the loop at
// the top reduces the rows of one node after the other and then goes over the row once more, for the results. What
// takes long to compute is kept from the first time, the rest is computed again. What has one element for each row, a
// reduction's result and what is computed of such, is computed between those loops. On a GPU such a kernel is for the
// very sizes that the facts know.
#pragma once

#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/fuser/ir/kernel.h"
#include "jit/fuser/runtime/kernel_signature.h"
#include "jit/ir/graph.h"

namespace hearth {

struct FusionGroup {
  std::vector<const Node*> nodes;     // in the order in which they run
  std::vector<const Value*> outputs;  // those of their values that others use; at least one
};

struct LoweredGroup {
  fuser::Kernel kernel;
  fuser::KernelSignature signature;
  std::vector<const Value*> operands;  // of a node that runs the kernel, after the kernel itself
};

// None if no kernel can be made of it. `facts` knows all values of the group and its operands.
std::optional<LoweredGroup> LowerGroup(const FusionGroup& group, ValueFactTable& facts);

// The sizes and the order in memory of what a node gives that may be part of a group; of a reduction, what it reduces.
struct FusionSpace {
  c10::Device device;
  KnownSizes sizes;
  std::vector<size_t> nesting;  // of the dimensions that do not have one element
  size_t row = 0;  // how many of these, from the innermost on, are the rows that nodes depend on; 0: none do
  // False: what has an element for each row may lie in another order than the rows, and then may not leave the group.
  bool in_order = true;
  // Whether each tensor that it reads is expanded, so that little memory is read in whichever order.
  bool reads_little = false;
};
// The space of a group of both, where what gives the one may be fused with what is given it and gives the other: the
// device and sizes are the same, or both more than 1, so that a run in which they differ raises; and so are the rows,
// if both have any; or one has an element for each of the other one's rows. Else none.
std::optional<FusionSpace> Joined(const FusionSpace& a, const FusionSpace& b, const SizeAlgebra& algebra);
// The same where nothing of `within` leaves the group: the space is that of `around`, and the two may be nested
// otherwise, but for the innermost dimension unless `within` reads little.
std::optional<FusionSpace> JoinedWithin(const FusionSpace& within, const FusionSpace& around,
                                        const SizeAlgebra& algebra);
// Whether another node of the group may read what the node gives: not where it has lost dimensions.
bool IsReadInGroup(const Node& node, ValueFactTable& facts);
// None if the node cannot be.
std::optional<FusionSpace> SpaceOf(const Node& node, ValueFactTable& facts);

}  // namespace hearth
