// Products with constant matrices that are written another way than as a linear layer become one, so that what is known
// of linear layers (group_linears.h, pack_linears.h) holds for them: addmm, mm and matmul. The weight of a layer is the
// matrix transposed, a view: nothing is copied.
//
// If the rows were put below one another for it, by a view before and another one after it that brings back what was
// there, both go: a linear layer takes any number of dimensions. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

// For graphs that record no gradients.
bool MakeLinears(Compilation& compilation);

}  // namespace hearth
