// Results get places in an arena that runs of the plan use one after the other (interpreter/arena.h). A small one is a
// tensor of the arena: `aten::add.Tensor` becomes `aten::add.out` into a prim::Slot, since for what takes a microsecond
// or less, to make a tensor and its memory and to free them is half of the time. A larger one is its operator's to
// make, however it lays the tensor out; the node's attribute `place` says where the memory is. Results of operators of
// libraries have no places, since those may keep what they allocate, nor have those of convolutions that may compute in
// a layout of their own first: all but hearth::convolution with a channels-last result.
//
// Sizes are constants or computed of numbers that are known at entry (arena_builder.h), where a prim::Arena takes the
// memory for them. Here it is decided which results share a place and which places lie over which others; where they
// begin follows from a run's sizes.
//
// A result has a place if nobody has it when the run has ended and no fork sees it: by its class of aliases, which is
// neither returned nor stored, and whose Values are all of one block. It lives from the first of them to the last use;
// a FrameState is a use that lasts until the next one (analysis/liveness.h). Places of results that live at the same
// time do not overlap: for the sizes that are likely, the largest are placed first, each at the least offset that is
// free while it lives (Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020). Which of
// two that live at the same time is the lower one then is so for all sizes. So an operator never writes where it reads.
//
// The arena is no larger than the most that lives at one time, but for small results: a large one that would lie beyond
// that has no place. Of the sizes that are likely, so it takes no more than results would that are freed one by one.
//
// Not for graphs that may record gradients, and only for plain tensors on the CPU. The last pass, since what it makes
// is of the interpreter and not of the language. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PlanMemory(Compilation& compilation);

}  // namespace hearth
