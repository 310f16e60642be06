// Writes in place become values: `aten::relu_(%x)` becomes `aten::relu(%x)`, and whoever used %x after it, or a view of
// it, uses what that gives, or a view of that. A write to a slice of a tensor becomes a new tensor with that slice in
// its place (`aten::slice_scatter`). So passes need not ask when something is computed, nor in which memory; what is
// written in a branch is one more output of the If. passes/reinplace makes writes of such values again, where that is
// faster.
//
// A write becomes a value if nobody could tell: its memory was made in the same round of the loops around it, all
// references to it are known (analysis/tensor_bases.h), and no FrameState before it has one, so that a run that is
// taken up by the baseline makes it anew. Each view that is used after the write is taken again of the new tensor, so
// that FrameStates and answers have as many tensors, and these share memory, as in the baseline. The new tensor must
// have the dtype, sizes and strides that the written one keeps, as far as facts tell, but for strides in dimensions of
// size 1 that nobody sees (analysis/visible_strides.h); otherwise the write stays.
//
// Functionalization as in PyTorch's functorch, by the rules of benchmarks/experiments/bailout. Writes in loops to what
// was made outside of them stay. Not for graphs that may record gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool Functionalize(Compilation& compilation);

}  // namespace hearth
