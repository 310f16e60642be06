// The loop IR: what a fused group of operators computes, as loops over scalars. Back ends make machine code of it, for
// a CPU as for a GPU; the evaluator (evaluator.h) says what it means.
//
//   kernel(%0, %1) {                                  softmax of the rows of a matrix of any size
//     %2 = i64 constant 1
//     input @0 f32 [%0, %1] strides [%1, %2]
//     output @1 f32 [%0, %1] strides [%1, %2]
//     local @2 f32 [%1]
//     parallel %3 < %0 {
//       %6 = reduce %4 < %1 {
//         %5 = f32 load @0 [%3, %4]
//         yield maximum %5
//       }
//       %11 = reduce %7 < %1 {
//         %8 = f32 load @0 [%3, %7]
//         %9 = f32 subtract %8, %6
//         %10 = f32 exp %9
//         store @2 [%7], %10
//         yield sum %10
//       }
//       parallel %12 < %1 {
//         %13 = f32 load @2 [%12]
//         %14 = f32 divide %13, %11
//         store @1 [%3, %12], %14
//       }
//     }
//   }
//
// Values are scalars, numbered from 0 in the order in which they are defined and assigned once. Symbols, the first of
// them, are i64 numbers that whoever launches the kernel gives: sizes, strides, numbers of the program. A symbol may
// also be a float of the program, an f64. Sizes that no run knows beforehand are symbols as any other.
//
// At the top there are instructions that compute numbers of symbols and constants, none that touches memory; then
// buffers, whose sizes and strides are such numbers; then parallel loops, as many times as such a number says, one
// after the other: each begins when the one before it has stored all. What is computed once for the whole kernel is a
// loop of one round.
//
// Buffers: inputs are read only. Outputs are written; what is loaded from one that was not stored is what the memory
// had before, so an output may be an input that is overwritten. No two buffers overlap, but that inputs may overlap
// each other. Local buffers are dense, row by row, and have a copy of their own for each round of the loop at the top
// that uses them, whose elements are unspecified until they are stored. Their sizes are small: a row, not a tensor.
//
// Views, broadcasts and transpositions are index arithmetic and strides; a gather loads with an index that was loaded;
// padding and concatenation are kLoadIf. Indices are within the sizes wherever a load or store runs: what cannot be
// proved is the program's to check, or kWithin's. Strides are in elements, and may be 0 or negative.
//
// The whole grammar of the text is in printer.h.
//
// A Kernel holds data and checks nothing; verifier.h says whether it is well-formed, builder.h makes well-formed ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/fuser/ir/dtype.h"
#include "jit/fuser/ir/operation.h"

namespace hearth::fuser {

using ValueId = uint32_t;
using BufferId = uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};
// How many loops may be inside one another.
inline constexpr int kMaxLoopDepth = 64;

struct Instruction {
  Opcode opcode = Opcode::kConstant;
  Dtype dtype = Dtype::kInt64;         // of the result; of kStore the value's
  ValueId result = kNoValue;           // none of kStore
  std::vector<ValueId> operands = {};  // of kStore: the value, then the indices; of kLoadIf: the b1, then the indices
  BufferId buffer = 0;                 // of kLoad, kLoadIf, kStore
  int64_t integer = 0;                 // of kConstant: of b1 (0 or 1) and integers
  // Of kConstant: of floating point, a value of the dtype. A NaN is quiet, positive and without payload.
  double real = 0;

  // Bit for bit: 0 is not -0, a NaN is itself.
  bool operator==(const Instruction& other) const;
};

struct Loop;

// An instruction or a loop.
struct Statement {
  Instruction instruction;     // unless there is a loop
  std::unique_ptr<Loop> loop;  // null: none
};

using Body = std::vector<Statement>;

enum class LoopKind : uint8_t {
  // In any order and at the same time: no round reads or writes what another one writes. Gives nothing. Local buffers
  // are one for all rounds, unless the loop is at the top.
  kParallel,
  // The same, and gives what its accumulators make of all rounds.
  kReduce,
  // One after the other; what one round carries over the next one begins with.
  kSequential,
};

// Of a kReduce.
struct Accumulator {
  Reduction reduction = Reduction::kSum;
  ValueId element = kNoValue;  // one round's: any value that the body sees
  ValueId result = kNoValue;   // of the element's dtype, i64 of the arg-reductions

  bool operator==(const Accumulator&) const = default;
};

// Of a kSequential.
struct Carried {
  ValueId initial = kNoValue;  // defined before the loop
  ValueId value = kNoValue;    // what a round begins with
  ValueId next = kNoValue;     // what it hands on, of the same dtype; may be any value that the body sees
  ValueId result = kNoValue;   // after the last round

  bool operator==(const Carried&) const = default;
};

// A loop defines its index, then what it carries, then what the body defines, then its results.
struct Loop {
  LoopKind kind = LoopKind::kParallel;
  ValueId index = kNoValue;   // i64, from 0 up
  ValueId extent = kNoValue;  // i64, how many rounds; none if it is not positive
  Body body;
  std::vector<Accumulator> accumulators;  // at least one of a kReduce, else none
  std::vector<Carried> carried;           // of a kSequential, perhaps
};

enum class BufferKind : uint8_t { kInput, kOutput, kLocal };

struct Buffer {
  BufferKind kind = BufferKind::kInput;
  Dtype dtype = Dtype::kFloat32;
  std::vector<ValueId> sizes;    // i64, one for each dimension
  std::vector<ValueId> strides;  // as many; none of a kLocal

  bool operator==(const Buffer&) const = default;
};

struct Kernel {
  // Their dtypes, i64 or f64; symbol i is value i.
  std::vector<Dtype> symbols;
  // Instructions only.
  Body prologue;
  // Inputs, then outputs, then local ones. Launchers give the memory of the first two kinds in this order.
  std::vector<Buffer> buffers;
  Body body;  // kParallel loops only
  ValueId num_values = 0;

  size_t num_inputs() const;
  size_t num_outputs() const;
};

// Whether both say the same in the same order, by the same numbers.
bool Equal(const Kernel& a, const Kernel& b);
// The dtype of each value, by its number. The kernel is well-formed.
std::vector<Dtype> DtypesOf(const Kernel& kernel);

}  // namespace hearth::fuser
