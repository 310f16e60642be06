// Several linear layers of one input with few outputs each, the heads of a model that answers several questions, become
// one: hearth::linears, with the weights one below the other. A product with a narrow matrix costs more to begin than
// to do: on one thread of an AMD EPYC, a model of two layers and twelve heads of 64 inputs and up to 5 outputs
// takes 5.9 and 5.0 µs for one row, apart and together, 11.8 and 9.1 µs for 8 rows, 57 and 38 µs for 128.
//
// Wide ones are left apart: three of 256 or 768 outputs, the queries, keys and values of an attention, are slower
// together as MKL multiplies them (0.5 to 1 times as fast, for 1 to 128 rows), and as fast with oneDNN's packed weights
// but for 256 outputs (1.1 to 1.2 times), where plans have MKL's for good reason; and what follows would have to take
// strided views. Each result is a tensor of its own, as the baseline's.
//
// The layers are of one block and no relu comes after them, with constant float32 weights on the CPU, all with a
// constant bias or all without, and nobody writes their input. Not for graphs that may record gradients. Returns
// whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool GroupLinears(Compilation& compilation);

}  // namespace hearth
