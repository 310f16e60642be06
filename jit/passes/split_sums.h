// Sums over a dimension of a few elements become additions of these parts, as a kernel computes them with what is
// around (fuse.h): attention over branches of convolutions stacks the branches' images, weighs them and adds them up.
//
//   sum(x, [d])                       select(x, d, 0) + select(x, d, 1) + ...
//   of x = stack([a, b], d)           a + b
//   of x = stack([a, b], d) * w       a * select(w, d, 0) + b * select(w, d, 1)
//   mean(x, [d])                      the same, divided by the number of parts
//
// On a CPU and on a GPU, in float32 and in half precision, of which the parts are added up in float32 and the result is
// rounded once, as LibTorch does it; where no kernels are made only in float32 on a CPU. The order of additions stays.
// Not of a dimension that is innermost in memory, of whose sums there are kernels that read rows. Where nobody sees in
// which order in memory the result lies, and nobody writes what the parts are of. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SplitSums(Compilation& compilation);

}  // namespace hearth
