// Linear layers of transposed matrices on a GPU, as models have them that mix tokens: products with the weight on the
// left, which read the matrices as they lie, and whose result lies as its input does.
//
//   linear(x, weight, bias)    transpose(matmul(weight, transpose(x)) + bias as a column), of x [batch, rows, columns]
//
// Activations that alone use the result come before it is transposed, and a transposition back goes.
// LibTorch's layer is a product and an addition of their own, and has its result in the other order than what is
// transposed back right after it. The addition here is joined with what follows by fusion. In half precision, where
// nobody sees in which order the result lies. Returns whether the graph changed: then what is made of the results may
// be transposed too.
#pragma once

namespace hearth {

class Compilation;

bool LeftProducts(Compilation& compilation);

}  // namespace hearth
