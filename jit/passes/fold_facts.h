// What the facts of a call's arguments decide: questions about tensors (dim, dtype, device, size, ...) become
// constants, and with them what is computed from constants; branches and loops that cannot run go; checks for None and
// types go; conversions to what a tensor already is go; lists, tuples and dicts are taken apart where they are made,
// and those that are constants answer what they are asked; a number out of a tensor that is made of constants alone is
// a constant (analysis/tensor_numbers.h). Whether gradients are recorded, and autocast is on, is answered where no code
// switches gradients on.
//
// One forward walk with the facts of value_fact_table.h beside it. The graph is then right only for calls whose
// arguments have these facts. What decides is the type that the facts show, be it narrower than the declared one:
// inputs and what branches give get the narrower type, and nothing is replaced by a value that is not of its own.
// Returns whether the graph changed; what nobody uses any more is left to dead code elimination.
#pragma once

namespace hearth {

class Compilation;

bool FoldFacts(Compilation& compilation);

}  // namespace hearth
