// Views of views become one, and what changes nothing goes: two permutations are one or none, what unsqueeze puts in
// and squeeze takes out again was never there, a view of a view of contiguous memory is a view of that, a slice is the
// whole where it begins and ends with it, an expansion or view to the sizes that a tensor has is that tensor, and a
// copy that nobody writes, of what nobody writes, is the original, also one with padding of no width; so is a tensor
// whose elements all become another's. An operand that is expanded to the sizes of another one is read as it was, since
// its user expands it in the same way.
//
// Only where nobody can tell: the memory is not written, returned or handed out (pure_nodes.h), nothing in the graph
// asks whether two tensors are one, no FrameState hands to the baseline one tensor for two (behind a guard it may write
// where the plan does not), and strides are the same, also those of sizes that are 1. What raises still does: what goes
// is known by its sizes (value_facts.h) not to raise. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SimplifyViews(Compilation& compilation);

}  // namespace hearth
