// Layers that mix the heads of an attention ("talking heads": CaiT's, EfficientFormerV2's) become products of their
// weight with the scores as these lie, head by head:
//
//   permute(linear(permute(x, [0, 2, 3, 1]), weight, bias), [0, 3, 1, 2])    matmul(weight, x as rows) + bias as a
//   column, convolution(x, weight of one pixel, bias)                               of x [batch, heads, rows, columns]
//
// A linear layer wants the few numbers of a place side by side: the scores are put into that order and the softmax and
// the product after it find them in it. For float32 on a CPU, few heads, a weight and a bias that are constants, and
// known rows and columns; convolutions only of what a product of matrices gives, since images are better off
// channels-last. Where nobody sees in which order the result lies. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool MixHeads(Compilation& compilation);

}  // namespace hearth
