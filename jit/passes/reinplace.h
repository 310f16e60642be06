// Values become writes in place again: where an operator's first operand is not used after it, the operator writes its
// result there (`aten::relu` becomes `aten::relu_`), which saves new memory and its way through the caches; a tensor
// with another slice in it (`aten::slice_scatter`) is that tensor, written where the slice is. The other way round of
// passes/functionalize, and as good for operators that never wrote in place.
//
// An operand's memory may be taken over if it was made in the same round of the loops around the operator, and nobody
// reads it from then on: none of the Values that refer to it (analysis/tensor_bases.h), nor a FrameState that a run may
// still go back to. The result must have the dtype, sizes and strides of the operand. Of arithmetic on a few floats
// there is code that takes over memory by itself (operators/native_small_tensor), which is left alone.
//
// The last pass before plan_memory, since others look for values. Not for graphs that may record gradients. Returns
// whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool Reinplace(Compilation& compilation);

}  // namespace hearth
