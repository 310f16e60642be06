// Chooses in which order values lie in memory. Convolutions of images, and on the CPU of volumes, have their constant
// weights in channels-last order, which the libraries that compute them like best, and so give their results; what
// follows goes on in that order as far as it may. Convolutions of sequences, [batch, channels, length], become
// convolutions of images of one row, so that their channels lie side by side, too: where a model transposes sequences
// around them, nothing is copied. What a model copies into the default order although it lies channels-last
// (`x.permute(0, 3, 1, 2).contiguous()`) stays as it is, and images that it makes of what has its channels inside (the
// results of an attention's heads, transposed and reshaped) are made channels-last where a convolution reads them.
//
// The rules of the facts (definitions/operator_facts.h) tell how an order goes from operand to result: a node is given
// an operand in another order than the baseline has it in if the order of what it gives is known in both. Some give the
// same in any case (a layer norm, a product with a matrix), others go on in the new order (elementwise operators,
// pooling, views that permute dimensions). For everything else, whoever can see strides above all, a copy restores the
// order of the baseline: answers, FrameStates, memory that is written where somebody else may see it. Where that order
// is not known exactly and yet would be seen, the convolution stays as it is.
//
// Where the target's libraries gain by it (compiler/target.h), where no gradients are recorded, and for convolutions,
// copies and reshapes of which the facts tell how the baseline's result lies in memory. Returns whether the graph
// changed.
#pragma once

namespace hearth {

class Compilation;

bool ChooseLayouts(Compilation& compilation);

}  // namespace hearth
