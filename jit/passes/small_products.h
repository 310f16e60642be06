// Products of batches of matrices and vectors, of few terms each, on a GPU where kernels are made:
//
//   matmul(a, b), a [.., M, K], b [.., K, 1]    sum(a * b^T, -1), added up in float32; likewise a [.., 1, K]
//   the same where the rows of a are windows    the sum of the K products of parts of the images: w0 * x[0:] +
//   of images that im2col (F.unfold) gives      w1 * x[1:] + ..., of images that lie channels-last
//
// The first is a kernel that reduces rows, where BLAS has slow ones. The second is a kernel without reductions, and the
// windows, which have K times as many elements as the images, are not made at all: ConvBERT's and other dynamic
// convolutions. Only where both have batches: layers with constant weights are another matter. Returns whether the
// graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SumSmallProducts(Compilation& compilation);

}  // namespace hearth
