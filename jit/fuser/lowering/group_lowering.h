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
//
// A node that copies elements to other places (definitions/place_rules.h) is in a kernel what it reads there. Its
// operands come from outside of the group; the dimensions along which it moves elements are dimensions of the kernel of
// their own, with sizes that are constants. On a CPU, tensors that are joined along the innermost one have a loop each.
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

}  // namespace hearth
