// A number that becomes a tensor and a number again (traced models do that with every size) is the number all along:
// int(NumToTensor(n)) is n, if nothing writes the tensor in between. So are ints that tensors are added, subtracted,
// multiplied and divided for on the way: int(NumToTensor(n) // 7) is n // 7. The tensors go with dead code.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool ForwardScalarTensors(Compilation& compilation);

}  // namespace hearth
