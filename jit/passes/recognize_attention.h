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
// All are float32 on the CPU and of one rank, 3 at least, with the same batch dimensions; biases broadcast to the
// scores, and nobody else uses what is between the operands and the result. Results differ from those of the operators
// one by one as roundings do. Runs before direct_products. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

// The plan records no gradients.
bool RecognizeAttention(Compilation& compilation);

}  // namespace hearth
