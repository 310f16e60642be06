// A size that is a tensor for a moment (traced models keep every size in one) and is written by arithmetic in place:
// the arithmetic gives a new one, and the old one stays as it was made, where nobody can see the difference. The tensor
// is one of the host's, which could not be multiplied in place by a constant of an archive that is on a GPU, and
// scalar_tensors makes an int of what nothing writes. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FunctionalizeSizes(Compilation& compilation);

}  // namespace hearth
