// Linear layers of transposed matrices, as models have them that mix tokens: products with the weight on the left,
// which read the matrices as they lie, and whose result lies as its input does. Of x [batch, rows, columns]:
//
//   on a CPU, in float32      linear(x, weight, bias)    transpose(hearth::left_linear(transpose(x), weight, bias))
//   on a GPU, in 16 bits                                 transpose(matmul(weight, transpose(x)) + bias as a column)
//
// Activations that alone use the result come before it is transposed, on a CPU inside of the layer, and a transposition
// back goes. LibTorch's layer copies its input on a CPU, is a product and an addition of their own on a GPU, and has
// its result in the other order than what is transposed back right after it. On a GPU the addition is joined with what
// follows by fusion; on a CPU, where more is lost by a result that is transposed than by a copied input, only layers
// whose result is transposed back, or is such a layer's input, are such products. Where nobody sees in which order the
// result lies. Returns whether the graph changed: then what is made of the results may be transposed too.
#pragma once

namespace hearth {

class Compilation;

bool LeftProducts(Compilation& compilation);

}  // namespace hearth
