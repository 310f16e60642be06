// Rules that operators of several files have.
#pragma once

#include "jit/definitions/fact_rules.h"

namespace hearth {

// Of two operands, with broadcasting and type promotion.
void Binary(Call& call);

// Another list of the same elements; nothing of what is no list.
void CopyOfList(Call& call);
// Of two lists, one of the elements of both.
void JoinedLists(Call& call);

// For overloads that give an int.
namespace number {

void Dim(Call& call);
void Size(Call& call);
void Length(Call& call);
void Numel(Call& call);
void Element(Call& call);
void Sum(Call& call);
void Add(Call& call);
void Subtract(Call& call);
void Multiply(Call& call);
void Remainder(Call& call);
void Negate(Call& call);
void Convert(Call& call);

}  // namespace number
}  // namespace hearth
