// Whether nothing may have been put into a Value: prim::Uninitialized stands for what a branch does not give, since
// nobody looks at it on the ways that come from there. Control flow, casts and tuples hand it on. What is known of such
// a Value holds where the program looks at it, and only there: a pass must not look at it elsewhere.
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

bool MayBeUninitialized(const Value& value);

}  // namespace hearth
