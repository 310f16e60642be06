// Convolutions of float32 images on the CPU whose weight is a channels-last constant (choose_layouts.h) get it packed
// beforehand, as the library that computes them (oneDNN) likes it best: hearth::convolution in the place of conv2d and
// _convolution, which gives the same, in the same order in memory.
//
// Which format is best depends on the images' sizes; where these are known only to be likely, the node has two packed
// weights, one for inputs of those sizes and one for all others. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PackConvolutions(Compilation& compilation);

}  // namespace hearth
