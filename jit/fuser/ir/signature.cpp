#include "jit/fuser/ir/signature.h"

#include <bit>

#include "jit/fuser/ir/scalar_math.h"

namespace hearth::fuser {
namespace {

std::string Quoted(Dtype dtype) { return std::string(NameOf(dtype)); }

std::string ProblemOfOperand(size_t operand, Dtype given, Dtype expected) {
  if (given == expected) return "";
  return "operand " + std::to_string(operand) + " is " + Quoted(given) + ", not " + Quoted(expected);
}

std::string ProblemOfConstant(const Instruction& constant) {
  if (!IsFloating(constant.dtype)) {
    if (std::bit_cast<uint64_t>(constant.real) != 0) return "a constant of an integer has a floating-point value, too";
    if (Wrap(static_cast<Bits>(constant.integer), constant.dtype) != static_cast<Bits>(constant.integer)) {
      return std::to_string(constant.integer) + " is no value of " + Quoted(constant.dtype);
    }
    return "";
  }
  if (constant.integer != 0) return "a constant of floating point has an integer value, too";
  if (std::bit_cast<uint64_t>(constant.real) != std::bit_cast<uint64_t>(RoundTo(constant.dtype, constant.real))) {
    return std::to_string(constant.real) + " is no value of " + Quoted(constant.dtype);
  }
  return "";
}

// Of a load or store, whose first operand may be a condition or a value.
std::string ProblemOfAccess(const Instruction& access, std::span<const Dtype> operands, const Buffer& buffer) {
  const size_t before_indices = InfoOf(access.opcode).num_operands;
  if (operands.size() != before_indices + buffer.sizes.size()) {
    return std::to_string(operands.size() - before_indices) + " indices, and the buffer has " +
           std::to_string(buffer.sizes.size()) + " dimensions";
  }
  if (access.dtype != buffer.dtype) return Quoted(access.dtype) + ", and the buffer is " + Quoted(buffer.dtype);
  if (access.opcode == Opcode::kStore && buffer.kind == BufferKind::kInput) return "an input is stored to";
  for (size_t i = 0; i < operands.size(); ++i) {
    Dtype expected = Dtype::kInt64;
    if (i < before_indices) expected = access.opcode == Opcode::kStore ? buffer.dtype : Dtype::kBool;
    if (std::string problem = ProblemOfOperand(i, operands[i], expected); !problem.empty()) return problem;
  }
  return "";
}

std::string ProblemOfBitcast(Dtype from, Dtype to) {
  if (from == Dtype::kBool || to == Dtype::kBool) return "the bits of a b1";
  if (BytesOf(from) != BytesOf(to)) return Quoted(from) + " and " + Quoted(to) + " are not as wide";
  return "";
}

}  // namespace

Dtype ResultDtypeOf(Opcode opcode, std::span<const Dtype> operands) {
  if (IsComparison(opcode)) return Dtype::kBool;
  return operands[opcode == Opcode::kSelect ? 1 : 0];
}

std::string ProblemOf(const Instruction& instruction, std::span<const Dtype> operands, const Buffer* buffer) {
  const OperationInfo& info = InfoOf(instruction.opcode);
  const bool memory = TouchesMemory(instruction.opcode);
  if (memory ? operands.size() < info.num_operands : operands.size() != info.num_operands) {
    return std::to_string(operands.size()) + " operands, and " + std::string(info.name) + " takes " +
           std::to_string(info.num_operands);
  }
  if ((instruction.result == kNoValue) != (instruction.opcode == Opcode::kStore)) {
    return instruction.opcode == Opcode::kStore ? "a store has a result" : "no result";
  }
  if (instruction.opcode == Opcode::kConstant) return ProblemOfConstant(instruction);
  if (instruction.integer != 0 || std::bit_cast<uint64_t>(instruction.real) != 0) return "a constant's value";
  if (memory) return ProblemOfAccess(instruction, operands, *buffer);
  if (instruction.buffer != 0) return "a buffer, and no memory is touched";
  if (instruction.opcode == Opcode::kCast) return "";
  if (instruction.opcode == Opcode::kBitcast) return ProblemOfBitcast(operands[0], instruction.dtype);

  size_t first = 0;
  if (instruction.opcode == Opcode::kSelect) {
    if (std::string problem = ProblemOfOperand(0, operands[0], Dtype::kBool); !problem.empty()) return problem;
    first = 1;
  }
  if (!Takes(info.operands, operands[first])) {
    return std::string(info.name) + " does not take " + Quoted(operands[first]);
  }
  for (size_t i = first + 1; i < operands.size(); ++i) {
    if (std::string problem = ProblemOfOperand(i, operands[i], operands[first]); !problem.empty()) return problem;
  }
  const Dtype result = ResultDtypeOf(instruction.opcode, operands);
  if (instruction.dtype != result) return "the result is " + Quoted(result) + ", not " + Quoted(instruction.dtype);
  return "";
}

}  // namespace hearth::fuser
