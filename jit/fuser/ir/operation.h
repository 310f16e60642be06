// What one instruction of a kernel computes.
//
// Integers wrap around at their width. Floating-point operations round as IEEE 754 says; the functions from kExp on are
// those of mathematics within the bounds that a back end states. Where ATen has an operator of the same name, NaN,
// infinities and signed zeros come out as they do there. Unspecified are a NaN's sign and payload, and which of two
// zeros a minimum or maximum picks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jit/fuser/ir/dtype.h"

namespace hearth::fuser {

enum class Opcode : uint8_t {
  // ---- Without operands ----
  kConstant,  // Instruction::integer or ::real, rounded to the dtype

  // ---- Memory: the operands are one index for each dimension, i64 each ----
  kLoad,
  // The first operand is a b1; where it is false nothing is read, and the result is 0.
  kLoadIf,
  kStore,  // the first operand is the value; without a result

  // ---- From one dtype to another ----
  // As static_cast: of floating point to integers towards zero, unspecified where it does not fit; to b1 whether it is
  // not 0; to a narrower integer the low bits; to narrower floating point rounded to nearest, ties to even. To f16 and
  // bf16 by way of f32, as ATen does: f64 and i64 are rounded twice.
  kCast,
  // The dtype's bits as those of another one as wide; neither is b1.
  kBitcast,

  // ---- Operands and result of one dtype ----
  kAdd,  // integers, f32, f64, as all that follow unless they say otherwise
  kSubtract,
  kMultiply,
  // f32, f64: the quotient. Integers: rounded towards zero, 0 where the divisor is 0.
  kDivide,
  // Rounded down; integers: 0 where the divisor is 0; f32, f64: as c10::div_floor_floating, operation by operation.
  kFloorDivide,
  // What kFloorDivide leaves over, with the divisor's sign; integers: 0 where the divisor is 0; f32, f64: kFmod, plus
  // the divisor where that is not 0 and has the other sign.
  kRemainder,
  // What kDivide of integers leaves over, C's fmod for f32 and f64; integers: 0 where the divisor is 0.
  kFmod,
  kMinimum,  // NaN if an operand is; b1 too
  kMaximum,
  kNegate,
  kAbsolute,
  kFma,  // a * b + c, rounded once; f32, f64

  // ---- b1 and integers ----
  kAnd,
  kOr,
  kXor,
  kNot,                // of b1 the other value, of integers all bits
  kShiftLeft,          // integers; 0 where the count is negative or not below the width
  kShiftRight,         // signed integers keep their sign; the sign everywhere where the count is no such
  kShiftRightLogical,  // of an integer as if it were unsigned; 0 where the count is no such

  // ---- i64 ----
  // The first operand, an index from 0 to less than the second. Where it is another number a GPU stops the program with
  // an error; elsewhere the program has looked at it before, and the result is unspecified.
  kWithin,

  // ---- Comparisons: operands of one dtype, b1 among them; the result is b1 ----
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,

  // ---- A b1 and two operands of any one dtype, of which it picks the first where it is true ----
  kSelect,

  // ---- f32, f64 ----
  kFloor,
  kCeil,
  kTruncate,
  kRound,  // to nearest, ties to even
  kSquareRoot,
  kCopySign,  // the first operand with the second one's sign
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kPower,
};
inline constexpr size_t kNumOpcodes = static_cast<size_t>(Opcode::kPower) + 1;

// Which dtypes an operation takes.
enum class OperandKind : uint8_t {
  kAny,
  kComputed,        // integers, f32, f64
  kComputedOrBool,  // and b1
  kIntegerOrBool,
  kInteger,
  kIndex,     // i64
  kFloating,  // f32, f64
};

struct OperationInfo {
  std::string_view name;  // in text: "add", "floor_divide"
  // How many operands, but of kLoad, kLoadIf and kStore, which have an index for each dimension beside them.
  uint8_t num_operands;
  OperandKind operands;
};

constexpr bool TouchesMemory(Opcode opcode) { return opcode >= Opcode::kLoad && opcode <= Opcode::kStore; }
constexpr bool IsComparison(Opcode opcode) { return opcode >= Opcode::kEqual && opcode <= Opcode::kLessOrEqual; }

const OperationInfo& InfoOf(Opcode opcode);
std::optional<Opcode> OpcodeOfName(std::string_view name);

// Whether operands of that dtype fit.
bool Takes(OperandKind kind, Dtype dtype);

// How the elements that a loop gives become one value. Sums and products are of integers, f32 and f64, the others of b1
// too. Floating-point sums and products may be associated in any order, and begin with a zero of either sign.
enum class Reduction : uint8_t {
  kSum,         // 0 of none
  kProduct,     // 1 of none
  kMinimum,     // NaN if one is; of none +infinity, of integers the largest, of b1 true
  kMaximum,     // NaN if one is; of none -infinity, of integers the least, of b1 false
  kArgMinimum,  // the loop's index of the first of the least, where NaN is less than all; i64; 0 of none
  kArgMaximum,  // of the first of the largest, where NaN is larger than all
};
inline constexpr size_t kNumReductions = static_cast<size_t>(Reduction::kArgMaximum) + 1;

// "sum", "product", "minimum", "maximum", "arg_minimum", "arg_maximum".
std::string_view NameOf(Reduction reduction);
constexpr OperandKind OperandsOf(Reduction reduction) {
  return reduction <= Reduction::kProduct ? OperandKind::kComputed : OperandKind::kComputedOrBool;
}
constexpr bool IsArgReduction(Reduction reduction) { return reduction >= Reduction::kArgMinimum; }
// The result's dtype.
constexpr Dtype ResultOf(Reduction reduction, Dtype element) {
  return IsArgReduction(reduction) ? Dtype::kInt64 : element;
}
std::optional<Reduction> ReductionOfName(std::string_view name);

}  // namespace hearth::fuser
