// What follows a planned convolution (hearth::convolution) and alone uses its result becomes part of it, so that the
// result is written once: activations, also of several that are joined right after, and the addition of another tensor
// of the result's sizes, after which the node is hearth::add_convolution and may write to that tensor's memory
// (reinplace.h). Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FuseEpilogues(Compilation& compilation);

}  // namespace hearth
