// A list literal of scalar constants that nothing writes and nothing keeps becomes a constant itself: it is made once
// and not at each run. Equal ones are one constant, at the top of the graph or of the closure around them. "Nothing
// keeps" is what makes it safe: the list must not leave the graph, be held by another container or be handed to a call.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool MakeConstantLists(Compilation& compilation);

}  // namespace hearth
