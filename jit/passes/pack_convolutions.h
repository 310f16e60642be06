// Convolutions of float32 images and volumes on the CPU whose weight is a channels-last constant (choose_layouts.h)
// become planned calls of the library that computes them best (libraries/convolution.h): hearth::convolution in the
// place of conv2d, conv3d and _convolution, which gives the same, in the same order in memory, with its weight packed
// beforehand. The weight's form is the best one for the sizes that images have or most likely have. A constant number
// of zeros that images are filled up with for one of them alone becomes its padding. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PackConvolutions(Compilation& compilation);

}  // namespace hearth
