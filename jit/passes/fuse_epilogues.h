// An activation or addition that follows a packed convolution and alone uses its result becomes part of it
// (hearth::convolution), so that the result is written once.
//
// Activations are those that keep a NaN: the library's relu drops it. An addition is fused if both operands are known
// to have the same sizes and lie channels-last; no activation comes after it. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FuseEpilogues(Compilation& compilation);

}  // namespace hearth
