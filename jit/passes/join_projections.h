// The queries, keys and values of an attention, where a model computes each by a linear layer of its own from the same
// tensor, are one product and views of its result: on a GPU a product for few rows takes as long to begin as to do, and
// LibTorch's attention takes its operands with any distance between rows. The weights lie one below the other.
//
// Linear layers of one block and one input, with constant weights of which each has as many inputs, all with constant
// biases or none. What comes of each is taken apart into heads by a view, whose last two sizes are known, and goes
// nowhere but through transpositions into attention. Runs before pack_linears. Not for graphs that may record
// gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool JoinProjections(Compilation& compilation);

}  // namespace hearth
