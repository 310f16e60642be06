// Groups of pointwise operators become one kernel each (hearth::fused): what they compute is read once and written
// once, and what is only computed on the way is never written at all.
//
// A group is grown along the graph: a node joins the groups that its operands come from if all have the same space
// (fuser/lowering/group_lowering.h) and nobody outside of the group uses one of its values before the group's last
// node, where the kernel will stand. So nothing moves past what needs it. FrameStates are such users: a value that one
// of them has is a result of the kernel.
//
// A group of one node stays what it is, as LibTorch's operator does that as well, but for short rows on a GPU. So does
// one whose code is not to be had: of the code, it is the compilation's KernelSource that knows. Code that is yet to be
// made is waited for, or asked for in the report. On a GPU hearth::group_scales is a kernel, too
// (fuser/lowering/group_scales.h). Not for graphs that may record gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool Fuse(Compilation& compilation);

}  // namespace hearth
