#include "jit/fuser/cuda/top_constants.h"

namespace hearth::fuser {

std::optional<int64_t> ConstantAtTop(const Kernel& kernel, ValueId value) {
  for (const Statement& statement : kernel.prologue) {
    const Instruction& instruction = statement.instruction;
    if (instruction.result != value) continue;
    if (instruction.dtype != Dtype::kInt64) return std::nullopt;
    if (instruction.opcode == Opcode::kConstant) return instruction.integer;
    if (instruction.opcode != Opcode::kMultiply) return std::nullopt;
    const std::optional<int64_t> a = ConstantAtTop(kernel, instruction.operands[0]);
    const std::optional<int64_t> b = ConstantAtTop(kernel, instruction.operands[1]);
    int64_t product = 0;
    return a && b && !__builtin_mul_overflow(*a, *b, &product) ? std::optional(product) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hearth::fuser
