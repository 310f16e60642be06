// Convolutions whose padding is a word, "same" or "valid", get numbers in its place, so that rules and passes know the
// sizes of their results and can plan them. Where as much is padded on both sides: LibTorch itself pads the input
// beforehand where the right-hand side gets one more. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool MakePaddingExplicit(Compilation& compilation);

}  // namespace hearth
