// One operation of the loop IR as an expression of CUDA C++. What a dtype is there: b1 is bool, u8 unsigned char, the
// other integers signed char, short, int and long long; f16 and bf16 their bits as unsigned short; f32 and f64 float
// and double. No header is needed: what the language has no expression for are functions that the source defines.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of a value. A b1 in memory is an unsigned char.
std::string_view CTypeOf(Dtype dtype);
std::string_view MemoryCTypeOf(Dtype dtype);

// The functions that expressions call.
class CudaFunctions {
 public:
  // Adds a function with those that it calls, and gives its name.
  std::string_view Use(std::string_view name);
  // The definitions of all that were added, each after those that it calls.
  std::string Definitions() const;

 private:
  std::set<size_t> used_;
};

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
