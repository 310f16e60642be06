// Lists that are built step by step are made where they are complete: a list that is made empty, or a copy of one, and
// appended to or given other elements, in one block and out of everybody's sight, becomes one prim::ListConstruct of
// all its elements behind the last change. What is popped from it in that block is the element itself, as the ways up
// of a U-Net take what those down have kept. A copy of a constant list of scalars is a literal like any other.
//
// Until then it may only be asked (how long, what at a position, what its elements are together): such a question is
// asked of the elements so far. What nobody writes has facts (analysis/value_fact_table.h), and so does what is made of
// it. In a plan appends and pops must be private (private_writes.h). Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool BuildLists(Compilation& compilation);

}  // namespace hearth
