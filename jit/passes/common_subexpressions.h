// What was computed before from the same inputs is not computed again, and equal constants are one.
//
// A node may go if it is pure (pure_nodes.h): two objects that somebody could tell apart stay two. Walks blocks with
// scoped tables, so that what is kept dominates what goes; closures have tables of their own. Returns whether the graph
// changed.
//
// Value numbering over dominators (Briggs, Cooper, Simpson 1997).
#pragma once

namespace hearth {

class Compilation;

bool EliminateCommonSubexpressions(Compilation& compilation);

}  // namespace hearth
