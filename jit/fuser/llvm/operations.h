// Code for one operation of the loop IR on values in registers. What a dtype is there: b1 is i1, integers are
// themselves, f16 and bf16 their bits as i16, f32 and f64 themselves.
#pragma once

#include <span>

#include "jit/fuser/ir/kernel.h"
#include "jit/fuser/ir/unsupported.h"
#include "jit/fuser/llvm/llvm_scalar.h"

namespace hearth::fuser {

llvm::Type* TypeOf(llvm::LLVMContext& context, Dtype dtype);
LlvmScalar ConstantOf(EmitContext& context, const Instruction& constant);

LlvmScalar Convert(LlvmScalar value, Dtype from, Dtype to);
LlvmScalar Reinterpret(LlvmScalar value, Dtype to);
// Any operation without memory but constants, casts and bitcasts; `dtype` is the operands', of kSelect that of the
// last.
LlvmScalar Compute(Opcode opcode, Dtype dtype, std::span<const LlvmScalar> operands);

// An estimate of the time that an operation takes, in additions.
double CostOf(Opcode opcode, Dtype dtype);

}  // namespace hearth::fuser
