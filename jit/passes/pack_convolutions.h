// Convolutions with constant weights get them packed beforehand, in the format that the library which computes them
// likes best, and give their results in channels-last format, in which what follows them goes on: hearth::convolution
// in the place of conv2d and _convolution, with an addition or activation that comes right after it as part of it.
//
// A value is *loose* if its plan gives it another memory format than the baseline, which has it in the default one.
// What a packed convolution gives is loose, and so is what operators give that do not care about their inputs' formats
// and pass them on (elementwise, pooling, cat, normalisation). Everything else sees the default format, strides and
// all: a copy is put between. What is written in place is never loose, but for what becomes part of the convolution.
//
// Only float32 on the CPU, where the facts say so, and where no gradients are recorded. That an input which is not
// loose has the default format is checked by the operator, which raises, so that the run goes on in the baseline.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PackConvolutions(Compilation& compilation);

}  // namespace hearth
