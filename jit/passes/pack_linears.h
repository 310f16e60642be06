// A linear layer with a constant weight, and an activation right after it that nobody else's use is in the way of,
// become one node: hearth::linear. Its float32 weight gets the format beforehand that is fastest on this machine for
// the rows that the layer is likely given (weight_formats.h). Not for graphs that may record gradients. Returns whether
// the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PackLinears(Compilation& compilation);

}  // namespace hearth
