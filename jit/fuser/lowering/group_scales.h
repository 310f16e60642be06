// Makes a kernel for a GPU of hearth::group_scales, which gives what a group norm multiplies and adds: a round of the
// loop at the top goes over the numbers of one group of one image twice, for their mean and for their variance, and
// then over the group's channels. Where groups are long, a loop before it reduces strands of them, each in a thread,
// and it goes over what they have. The images lie channels-last or in the default order, and their channels are known.
// The kernel is for the very sizes that the facts know; where they know none it is for any, and has no strands.
#pragma once

#include <optional>

#include "jit/analysis/value_fact_table.h"
#include "jit/fuser/lowering/group_lowering.h"
#include "jit/ir/graph.h"

namespace hearth {

// None if no kernel can be made of it.
std::optional<LoweredGroup> LowerGroupScales(const Node& node, ValueFactTable& facts);

}  // namespace hearth
