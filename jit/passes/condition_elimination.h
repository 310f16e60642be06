// Conditions that are settled where they are asked for: what an earlier guard demanded is true behind it, and what a
// branch goes by is true in its one block and false in the other. Guards lose such conditions, and go when they have
// none left; branches and loops get a constant, for fold_facts to act on.
//
// One walk with what is known in scopes, so that what settles a condition dominates where it is asked for. Equal
// conditions are to be one Value by then (common_subexpressions). Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool EliminateConditions(Compilation& compilation);

}  // namespace hearth
