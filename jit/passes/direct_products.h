// Products of batches of matrices that are no weights (attention's) go to BLAS as the matrices lie: hearth::matmul in
// the place of matmul and bmm, on float32 tensors of the CPU with one rank. LibTorch copies transposed and sliced ones
// first. Not for graphs that may record gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool DirectProducts(Compilation& compilation);

}  // namespace hearth
