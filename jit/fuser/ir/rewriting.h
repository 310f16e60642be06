// What passes that rewrite loops of a Kernel need: new values, and copies of instructions with other operands. A pass
// works on a draft, whose values have any numbers; Compact (compaction.h) numbers them at the end.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// For the values that have another one in the copy.
using Substitution = std::map<ValueId, ValueId>;

inline ValueId Substituted(const Substitution& substitution, ValueId value) {
  const auto found = substitution.find(value);
  return found == substitution.end() ? value : found->second;
}

inline Statement StatementOf(Instruction instruction) {
  return {.instruction = std::move(instruction), .loop = nullptr};
}
inline Statement StatementOf(Loop loop) { return {.instruction = {}, .loop = std::make_unique<Loop>(std::move(loop))}; }

inline Loop EmptyLoop(LoopKind kind, ValueId index, ValueId extent) {
  return {.kind = kind, .index = index, .extent = extent, .body = {}, .accumulators = {}, .carried = {}};
}

// Kernels and bodies own their loops and do not copy by themselves.
Kernel CopyOf(const Kernel& kernel);
Body CopyOf(const Body& body);

class Rewriter {
 public:
  explicit Rewriter(Kernel& draft) : draft_(draft) {}

  ValueId NewValue() { return draft_.num_values++; }

  // Appends an operation to `body` and gives its result.
  ValueId Append(Body* body, Opcode opcode, Dtype dtype, std::vector<ValueId> operands) {
    const ValueId result = NewValue();
    body->push_back(
        StatementOf(Instruction{.opcode = opcode, .dtype = dtype, .result = result, .operands = std::move(operands)}));
    return result;
  }
  ValueId AppendInteger(Body* body, int64_t integer) {
    const ValueId result = NewValue();
    body->push_back(StatementOf(Instruction{.opcode = Opcode::kConstant, .result = result, .integer = integer}));
    return result;
  }

  // Appends a copy of an instruction; its result is new, and added to the substitution.
  void AppendCopy(Body* body, Instruction instruction, Substitution* substitution) {
    for (ValueId& operand : instruction.operands) operand = Substituted(*substitution, operand);
    if (instruction.result != kNoValue) {
      const ValueId result = NewValue();
      substitution->insert_or_assign(instruction.result, result);
      instruction.result = result;
    }
    body->push_back(StatementOf(std::move(instruction)));
  }

 private:
  Kernel& draft_;
};

}  // namespace hearth::fuser
