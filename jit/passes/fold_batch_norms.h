// A batch norm that does not train, right after a convolution or linear layer whose weights are constants and whose
// result nobody else uses, becomes part of the weights:
//
//   norm(conv(x, w, b)) = conv(x, w * s, (b - mean) * s + beta)   with s = gamma / sqrt(var + eps), per channel
//
// Also where the norm gets the rows of a linear layer's result as a matrix (flatten), as LeViT writes it, and where it
// gets the channels of several layers, joined: each of these takes its part.
//
// The same of a product or a sum with a constant per channel, which is how some models write a norm that is frozen. A
// norm in float32 or less that does not become part of weights, for want of such a layer or because the target leaves
// weights as they are, becomes a product and a sum with constants in float32, where kernels are made that do both and
// what follows at once. The new weights are computed in double precision and rounded once; answers differ by rounding.
// Only where all weights have one floating-point type and device and the ranks are known (an unbatched convolution's
// channels are not where the norm looks for them). The weights must not be written by any method of the model: that is
// for the caller to know. Not for graphs that may record gradients. Returns whether the graph changed.
//
// The algebra of Jacob et al. (2018), Quantization and training of neural networks, section 3.2.
#pragma once

namespace hearth {

class Compilation;

bool FoldBatchNorms(Compilation& compilation);

}  // namespace hearth
