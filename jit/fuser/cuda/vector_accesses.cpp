#include "jit/fuser/cuda/vector_accesses.h"

#include "jit/fuser/cuda/operations_in_cuda.h"

namespace hearth::fuser {

std::string TypeOfVector(const LoopCode& code, const Instruction& access, int width) {
  return std::string(code.functions->Use("Vector")) + "<" + std::string(MemoryCTypeOf(access.dtype)) + ", " +
         std::to_string(width) + ">";
}

std::string NameOfVector(const Instruction& access) {
  return access.opcode == Opcode::kStore ? "stored" + std::to_string(access.buffer)
                                         : "loaded" + std::to_string(access.result);
}

std::vector<const Instruction*> InOrder(const Body& body, const std::set<const Instruction*>& accesses) {
  std::vector<const Instruction*> in_order;
  for (const Statement& statement : body) {
    if (accesses.contains(&statement.instruction)) in_order.push_back(&statement.instruction);
  }
  return in_order;
}

}  // namespace hearth::fuser
