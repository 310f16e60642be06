// Convolutions of one input whose results are added up become one convolution, whose kernel is the sum of theirs: those
// of a smaller kernel lie in the middle of the largest one. The input itself, as it is or with a scale and a shift for
// each channel (a batch norm that fold_batch_norms has spelt out), is a kernel of one pixel. So networks that were
// trained with branches beside each other (RepVGG, MobileOne, RepViT) run as the one convolution that they come to
// ("RepVGG: Making VGG-style ConvNets Great Again", Ding et al., 2021). The zero that such a sum may begin with goes.
// Where a number is not finite, others near it may be otherwise than in a sum of branches.
//
// Convolutions of images with constant weights and biases, of one stride and number of groups, whose kernels have the
// same middle; nobody else sees their results, nobody writes their input, and the facts say that the sum lies in memory
// as the convolution's result does. The sums are computed in double precision and rounded once; results differ from
// those of the branches as roundings do. Runs after fold_batch_norms, and leaves it more to do. Not for graphs that may
// record gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool JoinBranches(Compilation& compilation);

}  // namespace hearth
