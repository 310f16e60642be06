// A number that becomes a tensor and a number again (traced models do that with every size) is the number all along:
// int(NumToTensor(n)) is n, if nothing writes the tensor in between. The tensor goes with dead code.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool ForwardScalarTensors(Compilation& compilation);

}  // namespace hearth
