// Facts about the results of operators that compute each element from the elements in its place.
#pragma once

#include "jit/definitions/fact_rules.h"

namespace hearth::facts {

// In memory as the input is, if that has the default order.
void Like(Call& call);
// The same of any order: new memory for the result is nested as the input is.
void LikeInOrder(Call& call);
// What is floating point whatever the input is.
void LikeFloating(Call& call);
void LikeBool(Call& call);
// Of complex numbers it is a real one.
void Magnitude(Call& call);

// Of two operands, with broadcasting.
void Elementwise(Call& call, Dtype dtype);
void BinaryFloating(Call& call);
void Compare(Call& call);

}  // namespace hearth::facts
