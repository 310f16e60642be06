// Sums over a dimension of a few elements become additions of these parts, as a kernel computes them with what is
// around (fuse.h): attention over branches of convolutions stacks the branches' images, weighs them and adds them up.
//
//   sum(x, [d])                       select(x, d, 0) + select(x, d, 1) + ...
//   of x = stack([a, b], d)           a + b
//   of x = stack([a, b], d) * w       a * select(w, d, 0) + b * select(w, d, 1)
//
// On float32 tensors of a CPU, in whose elements the order of additions stays. Where nobody sees in which order in
// memory the result lies, and nobody writes what the parts are of. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SplitSums(Compilation& compilation);

}  // namespace hearth
