#include "jit/fuser/llvm/address_arithmetic.h"

#include <algorithm>

namespace hearth::fuser {
namespace {

bool IsArithmetic(const Instruction& instruction) {
  return instruction.dtype == Dtype::kInt64 &&
         (instruction.opcode == Opcode::kAdd || instruction.opcode == Opcode::kSubtract ||
          instruction.opcode == Opcode::kMultiply);
}

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : is_clean_(kernel.num_values), is_address_(kernel.num_values) {
    std::fill_n(is_clean_.begin(), kernel.symbols.size(), true);
    for (const Statement& statement : kernel.prologue) is_clean_[statement.instruction.result] = true;
    FindClean(kernel.body);
    is_address_ = is_clean_;
    // Against the order of definitions, so that all uses of a value are seen before its own operands are.
    ExcludeOtherUses(kernel.body);
    for (const Statement& statement : kernel.prologue) is_address_[statement.instruction.result] = false;
    std::fill_n(is_address_.begin(), kernel.symbols.size(), false);
  }

  std::vector<bool> Take() { return std::move(is_address_); }

 private:
  void FindClean(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop != nullptr) {
        is_clean_[statement.loop->index] = true;
        FindClean(statement.loop->body);
        continue;
      }
      const Instruction& instruction = statement.instruction;
      if (instruction.opcode == Opcode::kConstant) is_clean_[instruction.result] = true;
      if (IsArithmetic(instruction)) {
        is_clean_[instruction.result] = std::all_of(instruction.operands.begin(), instruction.operands.end(),
                                                    [this](ValueId operand) { return is_clean_[operand]; });
      }
    }
  }

  void Exclude(ValueId value) { is_address_[value] = false; }

  void ExcludeOtherUses(const Body& body) {
    for (auto statement = body.rbegin(); statement != body.rend(); ++statement) {
      if (statement->loop != nullptr) {
        ExcludeUsesOfLoop(*statement->loop);
      } else {
        ExcludeUses(statement->instruction);
      }
    }
  }

  void ExcludeUsesOfLoop(const Loop& loop) {
    Exclude(loop.extent);
    for (const Accumulator& accumulator : loop.accumulators) Exclude(accumulator.element);
    for (const Carried& carried : loop.carried) {
      Exclude(carried.initial);
      Exclude(carried.next);
    }
    ExcludeOtherUses(loop.body);
  }

  void ExcludeUses(const Instruction& instruction) {
    if (IsArithmetic(instruction) && is_address_[instruction.result]) return;
    // Of a load all operands are indices; the others have a value or a condition first.
    const size_t other = instruction.opcode == Opcode::kLoad ? 0
                         : TouchesMemory(instruction.opcode) ? 1
                                                             : instruction.operands.size();
    for (size_t i = 0; i < other; ++i) Exclude(instruction.operands[i]);
  }

  std::vector<bool> is_clean_;
  std::vector<bool> is_address_;
};

}  // namespace

std::vector<bool> FindAddressArithmetic(const Kernel& kernel) { return Finder(kernel).Take(); }

}  // namespace hearth::fuser
