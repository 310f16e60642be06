// What one operation makes of scalars: the reference arithmetic of the evaluator, and of the builder's constant
// folding.
//
// A scalar is kept as 64 bits: integers sign- or zero-extended by their dtype, b1 as 0 or 1, floating point as its own
// bits with zeros above. Operations of f32 are done in float, each rounded once; the functions from exp on and power
// are those of <cmath> in double, for f32 rounded to float.
//
// Where operation.h leaves a result open: a cast of floating point to an integer that does not fit gives the nearest
// that does, and 0 for NaN; a minimum or maximum of two zeros is the first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

using Bits = uint64_t;

// The low bits that an integer dtype has, extended; of b1 the lowest.
Bits Wrap(Bits bits, Dtype dtype);
// `value` as the dtype, which is floating point, can represent it; any NaN becomes the one that constants have.
double RoundTo(Dtype dtype, double value);

// To nearest, ties to even; a NaN stays one with its sign, and is quiet.
uint16_t HalfOfFloat(float value);
uint16_t BFloat16OfFloat(float value);
float FloatOfHalf(uint16_t bits);
float FloatOfBFloat16(uint16_t bits);

// Of a kConstant.
Bits BitsOfConstant(const Instruction& constant);
// What a value is as a double: exact but for large i64.
double DoubleOf(Bits value, Dtype dtype);
Bits BitsOf(double value, Dtype floating);

// kCast.
Bits Convert(Bits value, Dtype from, Dtype to);
// Whether the cast's result is specified.
bool CastFits(Bits value, Dtype from, Dtype to);
// kBitcast, to a dtype as wide as the value's.
Bits Reinterpret(Bits value, Dtype to);
// Any operation without memory but constants, casts and bitcasts; `dtype` is the last operand's. What an operation does
// not take is ignored.
Bits Compute(Opcode opcode, Dtype dtype, Bits a, Bits b, Bits c);

// What a reduction is of no elements; of the arg-reductions 0.
Bits IdentityOf(Reduction reduction, Dtype element);
// Whether an arg-reduction prefers `candidate` to the best one so far, which came before it.
bool IsBetter(Reduction reduction, Dtype dtype, Bits candidate, Bits best);

// An element of a buffer; the memory need not be aligned.
Bits ReadElement(const std::byte* memory, Dtype dtype);
void WriteElement(std::byte* memory, Dtype dtype, Bits value);

}  // namespace hearth::fuser
