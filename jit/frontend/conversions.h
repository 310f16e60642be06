// The conversions that a call or an assignment makes by itself: tuples to lists, tensors and numbers to the scalar that
// is wanted, strings to devices. What they are follows TorchScript exactly, since overloads depend on it.
//
// A conversion comes in two halves: what type it would give, which costs nothing and which matching tries on many
// candidates, and the nodes that do it, which are emitted once the call is settled.
#pragma once

#include <ATen/core/jit_type.h>

#include "jit/ir/graph.h"

namespace hearth {

// `from` is a subtype of `to`; quick for the types that calls are full of.
bool IsSubtype(const TypePtr& from, const TypePtr& to);

// T for an Optional[T], else the type itself.
const TypePtr& UnwrapOptional(const TypePtr& type);

// Whether a value of the type may stand for the list: a subtype, or a tuple whose elements all fit.
bool ConvertibleToList(const TypePtr& type, const TypePtr& list);

// The type that a value of type `from` has after what a conversion to `to` would do to it; the caller then asks
// IsSubtype. `is_empty_list` for a bare `[]`, which may become a list of anything. Without `implicit`, scalars stay.
TypePtr ConvertedType(const TypePtr& from, const TypePtr& to, bool is_empty_list, bool implicit);

// Emits that conversion at the insertion point and gives the result. The value must have been found convertible.
Value* Convert(Graph& graph, const SourceRange& range, Value* value, const TypePtr& to, bool is_empty_list,
               bool implicit);

}  // namespace hearth
