// Small results of known sizes get places in an arena that runs of the plan use one after the other
// (interpreter/arena.h): `aten::add.Tensor` becomes `aten::add.out` into a prim::Slot. For what takes a microsecond or
// less, to make a tensor and its memory and to free them is half of the time.
//
// A result has a place if nobody has it when the run has ended and no fork sees it: by its class of aliases, which is
// neither returned nor stored, and whose Values are all of one block. It lives from the first of them to the last use;
// a FrameState is a use that lasts until the next one. Places of results that live at the same time do not overlap: the
// largest are placed first, each at the least offset that is free while it lives (Pisarchyk and Lee, Efficient memory
// management for deep neural net inference, 2020). So an operator never writes where it reads.
//
// Not for graphs that may record gradients, and only for plain tensors on the CPU whose strides are those of a place:
// contiguous. Larger ones are left alone: what is freed early is of more use there, and malloc costs nothing beside the
// work. The last pass, since what it makes is of the interpreter and not of the language. Returns whether the graph
// changed.
#pragma once

#include <cstddef>
#include <span>

#include "jit/analysis/argument_spec.h"
#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

inline constexpr size_t kMostBytesOfSlot = 64 * 1024;
inline constexpr size_t kMostBytesOfArena = 1024 * 1024;

// `effects` tells what calls do; null: anything.
bool PlanMemory(Graph& plan, std::span<const ArgumentFacts> arguments, const UnitEffects* effects);

}  // namespace hearth
