// Runs a Kernel statement by statement: slow, and what every back end is held against. What the IR leaves open is an
// error here where it can be told from a well-defined run: an index that is not within the sizes, an address outside of
// the memory given, a load of a local element that was never stored in the round, a load or store of an element that
// another round of a parallel loop stored before. Where the round that stores comes after the other one, a run
// backwards finds it.
//
// Operations compute as scalar_math.h says; sums and products are taken in the order of the rounds, in the dtype of the
// element. Reads and writes nothing but the memory that it is given. Thread-safe for different memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Where a buffer's elements are. Inputs are not written.
struct BufferMemory {
  std::span<std::byte> bytes;
  // The place of the element whose indices are all 0, in elements from the begin: not 0 where strides are negative.
  int64_t origin = 0;
};

struct EvaluationOptions {
  // How many statements and rounds of loops may run.
  uint64_t max_steps = uint64_t{1} << 26;
  // How many elements a local buffer may have.
  int64_t max_local_elements = int64_t{1} << 20;
  // Runs the rounds of parallel and reduce loops from the last to the first. What depends on the order of those rounds
  // is no kernel, but for floating-point sums and products.
  bool backwards = false;
};

// what() shows the statement and says what it did.
class EvaluationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The kernel is well-formed (verifier.h). `symbols` has one number for each, of f64 its bits; `buffers` has the inputs
// and outputs in order. Throws EvaluationError; outputs then hold what was stored before.
void Evaluate(const Kernel& kernel, std::span<const int64_t> symbols, std::span<const BufferMemory> buffers,
              const EvaluationOptions& options = {});

}  // namespace hearth::fuser
