// One operation of the loop IR as an expression of CUDA C++. What a dtype is there: b1 is bool, u8 unsigned char, the
// other integers signed char, short, int and long long; f16 and bf16 their bits as unsigned short; f32 and f64 float
// and double. What the language has no expression for is a call of a function that the source defines
// (cuda_functions.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "jit/fuser/cuda/cuda_functions.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of a value. A b1 in memory is an unsigned char.
std::string_view CTypeOf(Dtype dtype);
std::string_view MemoryCTypeOf(Dtype dtype);

// Also of the smallest integers, which the language has no literals for.
std::string LiteralOf(const Instruction& constant);
std::string IntegerLiteral(int64_t value, Dtype dtype);

std::string ConversionOf(const std::string& value, Dtype from, Dtype to, CudaFunctions* functions);
std::string BitsAs(const std::string& value, Dtype from, Dtype to);

// Any operation without memory but constants, casts and bitcasts; `dtype` is the last operand's. Operands are names,
// literals or calls. Throws Unsupported for what there is no expression for.
std::string ExpressionOf(Opcode opcode, Dtype dtype, std::span<const std::string> operands, CudaFunctions* functions);

// What a reduction is of no elements; of an arg-reduction any value.
std::string IdentityInCuda(Reduction reduction, Dtype element);

}  // namespace hearth::fuser
