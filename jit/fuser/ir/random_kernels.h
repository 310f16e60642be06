// Random kernels with what they run on, for tests that hold two implementations of the IR against each other: every
// operation and dtype, loops of all kinds inside one another, reductions, locals, transposed, reversed and broadcast
// buffers, gathers, padding; symbols of every size with 0 and 1 among them; NaN, infinities and -0 in the inputs.
//
// The kernels are well-formed and run without an EvaluationError, and what they compute does not depend on what the IR
// leaves open: elements of floating-point sums and products are made small and exact, so that any order gives the same;
// casts are clamped to what fits; no NaN's sign and no zero that a minimum picked decides anything. So outputs must be
// equal bit for bit, any NaN to any NaN, but for the outputs that hold results of functions (exp and the like).
// The same seed and options give the same case on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

struct RandomKernelOptions {
  // The functions from kExp on. Each is computed of exact operands and goes to an output at once, which nothing loads.
  bool functions = true;
  bool sequential_loops = true;
  bool local_buffers = true;
  // f16 and bf16.
  bool reduced_dtypes = true;
  // About how many instructions one output takes.
  int size = 25;
};

struct RandomBuffer {
  std::vector<std::byte> memory;
  int64_t origin = 0;
  // Whether it holds results of functions, which may differ by what a back end states.
  bool approximate = false;
};

struct RandomCase {
  Kernel kernel;
  std::vector<int64_t> symbols;
  // Inputs and outputs, which hold something before the run, too.
  std::vector<RandomBuffer> buffers;
};

RandomCase MakeRandomCase(uint64_t seed, const RandomKernelOptions& options = {});

// The buffers as Evaluate takes them; valid while they are.
std::vector<BufferMemory> MemoryOf(std::vector<RandomBuffer>& buffers);

}  // namespace hearth::fuser
