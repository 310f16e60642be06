// Attention that models write out becomes one operator, whose kernel keeps its scores to itself (kernels/attention.h):
//
//     matmul(softmax(matmul(q, transpose(k)) * scale + bias, -1), v)    hearth::attention(q, k, v, bias, scale, False)
//
// matmul may be bmm; the scale, a number, may be a factor or divisor of q, k or the scores; a tensor of one number for
// all keys of a query (the temperature of a head) may be one of the scores, and scales q then; there are none, one or
// two biases, one of which may be added to the scores viewed as windows of images (of shifted windows: the mask of an
// image's windows, the same for each image). Where nothing but a reshape or copy uses the result with its tokens before
// its heads, it is made in this order.
//
// On a GPU, in half precision, it becomes LibTorch's scaled_dot_product_attention, with the bias as its mask: of heads
// that LibTorch has kernels for, three or four dimensions, and also where the softmax is computed in float32 for a
// product in half precision. A row whose scores are all -inf gives NaN written out, and what these kernels give there.
//
// Else all are float32 on the CPU. They are of one rank, 3 at least, with the same batch dimensions; biases broadcast
// to the scores, and nobody else uses what is between the operands and the result. Results differ from those of the
// operators one by one as roundings do. Runs before direct_products and flatten_attention. Returns whether the graph
// changed.
#pragma once

namespace hearth {

class Compilation;

// The plan records no gradients.
bool RecognizeAttention(Compilation& compilation);

}  // namespace hearth
