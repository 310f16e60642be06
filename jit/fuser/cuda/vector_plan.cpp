#include "jit/fuser/cuda/vector_plan.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/top_constants.h"

namespace hearth::fuser {
namespace {

constexpr int kMostRounds = 8;
// Calls of functions in all rounds of a thread: each is written out that many times.
constexpr int kMostCalls = 16;

class VectorPlanner {
 public:
  VectorPlanner(const Kernel& kernel, const Loop& loop, const std::vector<IndexWidth>& widths)
      : kernel_(kernel), loop_(loop), widths_(widths) {}

  std::optional<VectorPlan> Make() {
    if (std::ranges::any_of(loop_.body, [](const Statement& statement) { return statement.loop != nullptr; })) {
      return std::nullopt;
    }
    FindDivision();
    std::map<BufferId, int> times_touched;
    int calls = 0;
    for (const Statement& statement : loop_.body) {
      const Instruction& instruction = statement.instruction;
      if (TouchesMemory(instruction.opcode)) ++times_touched[instruction.buffer];
      if (instruction.opcode >= Opcode::kExp) ++calls;
    }
    int widest = 0;
    for (const Statement& statement : loop_.body) {
      const Instruction& instruction = statement.instruction;
      const bool is_load =
          instruction.opcode == Opcode::kLoad && kernel_.buffers[instruction.buffer].kind == BufferKind::kInput;
      const bool is_store = instruction.opcode == Opcode::kStore && times_touched[instruction.buffer] == 1;
      if ((!is_load && !is_store) || !IsAtRound(instruction)) continue;
      plan_.accesses.insert(&instruction);
      widest = std::max(widest, static_cast<int>(BytesOf(instruction.dtype)));
    }
    if (widest == 0) return std::nullopt;
    plan_.width = std::min(kMostRounds, kVectorBytes / widest);
    while (plan_.width > 1 && plan_.width * calls > kMostCalls) plan_.width /= 2;
    if (plan_.width == 1) return std::nullopt;
    FindInnerAccesses();
    return std::move(plan_);
  }

 private:
  bool IsConstant(ValueId value, int64_t integer) const { return ConstantAtTop(kernel_, value) == integer; }

  // index / n, and index - (index / n) * n.
  void FindDivision() {
    ValueId product = kNoValue;
    for (const Statement& statement : loop_.body) {
      const Instruction& instruction = statement.instruction;
      if (instruction.dtype != Dtype::kInt64 || instruction.operands.size() != 2) continue;
      const ValueId a = instruction.operands[0];
      const ValueId b = instruction.operands[1];
      if (instruction.opcode == Opcode::kDivide && a == loop_.index && plan_.quotient == kNoValue) {
        plan_.quotient = instruction.result;
        plan_.extent = b;
      } else if (instruction.opcode == Opcode::kMultiply && a == plan_.quotient && b == plan_.extent) {
        product = instruction.result;
      } else if (instruction.opcode == Opcode::kSubtract && a == loop_.index && b == product) {
        plan_.rest = instruction.result;
      }
    }
    const bool is_whole = plan_.rest != kNoValue && IsFactorOfRounds(plan_.extent) && IsNarrow(plan_.quotient) &&
                          IsNarrow(plan_.rest) && IsNarrow(plan_.extent);
    if (!is_whole) plan_.quotient = plan_.rest = plan_.extent = kNoValue;
  }

  void FindInnerAccesses() {
    plan_.is_even = plan_.quotient != kNoValue && IsMultiple(plan_.extent);
    if (!plan_.is_even) return;
    for (const Statement& statement : kernel_.prologue) fixed_.insert(statement.instruction.result);
    for (ValueId symbol = 0; symbol < kernel_.symbols.size(); ++symbol) fixed_.insert(symbol);
    fixed_.insert(plan_.quotient);
    along_.insert(plan_.rest);
    for (const Statement& statement : loop_.body) {
      const Instruction& instruction = statement.instruction;
      if (!TouchesMemory(instruction.opcode)) {
        FollowRest(instruction);
      } else if (IsOtherLoad(instruction) && IsAlongRest(instruction)) {
        plan_.inner_accesses.insert(&instruction);
      } else if (IsOtherLoad(instruction) && AreFixed(IndicesOf(instruction))) {
        fixed_.insert(instruction.result);
      }
    }
  }

  // Whether it is a constant multiple of the width.
  bool IsMultiple(ValueId value) const { return ConstantAtTop(kernel_, value).value_or(1) % plan_.width == 0; }

  bool AreFixed(std::span<const ValueId> values) const {
    return std::ranges::all_of(values, [&](ValueId value) { return fixed_.contains(value); });
  }

  void FollowRest(const Instruction& instruction) {
    const std::vector<ValueId>& operands = instruction.operands;
    const auto are = [&](size_t along, size_t multiple) {
      return operands.size() == 2 && along_.contains(operands[along]) && IsMultiple(operands[multiple]);
    };
    // Vectors begin at multiples of the width, so that such a number is never within one.
    const bool is_fixed = AreFixed(operands) || (instruction.opcode == Opcode::kLess && are(0, 1)) ||
                          (instruction.opcode == Opcode::kLessOrEqual && are(1, 0));
    const bool is_along = (instruction.opcode == Opcode::kAdd && (are(0, 1) || are(1, 0))) ||
                          (instruction.opcode == Opcode::kSubtract && are(0, 1));
    if (is_fixed) fixed_.insert(instruction.result);
    if (is_along) along_.insert(instruction.result);
  }

  bool IsOtherLoad(const Instruction& instruction) const {
    const bool is_load = instruction.opcode == Opcode::kLoad ||
                         (instruction.opcode == Opcode::kLoadIf && fixed_.contains(instruction.operands[0]));
    return is_load && !plan_.accesses.contains(&instruction) &&
           kernel_.buffers[instruction.buffer].kind == BufferKind::kInput;
  }

  // Whether it has the rest as an index whose stride is 1, perhaps a multiple of the width from there, and all else is
  // fixed, in steps of whole vectors.
  bool IsAlongRest(const Instruction& load) const {
    const Buffer& buffer = kernel_.buffers[load.buffer];
    const std::span<const ValueId> indices = IndicesOf(load);
    bool has_rest = false;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (along_.contains(indices[i]) && IsConstant(buffer.strides[i], 1) && !has_rest) {
        has_rest = true;
      } else if (!fixed_.contains(indices[i]) || !(IsConstant(indices[i], 0) || IsMultiple(buffer.strides[i]))) {
        return false;
      }
    }
    return has_rest;
  }

  // So it is not 0 where a round runs.
  bool IsFactorOfRounds(ValueId value) const {
    return std::ranges::any_of(kernel_.prologue, [&](const Statement& statement) {
      const Instruction& instruction = statement.instruction;
      return instruction.result == loop_.extent && instruction.opcode == Opcode::kMultiply &&
             std::ranges::find(instruction.operands, value) != instruction.operands.end();
    });
  }

  bool IsNarrow(ValueId value) const { return widths_[value] == IndexWidth::kNarrow; }

  bool IsAtRound(const Instruction& access) const {
    const Buffer& buffer = kernel_.buffers[access.buffer];
    const std::span<const ValueId> indices = IndicesOf(access);
    bool has_round = false;
    bool has_quotient = false;
    bool has_rest = false;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (IsConstant(indices[i], 0)) continue;
      if (indices[i] == loop_.index && IsConstant(buffer.strides[i], 1) && !has_round) {
        has_round = true;
      } else if (indices[i] == plan_.quotient && buffer.strides[i] == plan_.extent && !has_quotient) {
        has_quotient = true;
      } else if (indices[i] == plan_.rest && IsConstant(buffer.strides[i], 1) && !has_rest) {
        has_rest = true;
      } else {
        return false;
      }
    }
    return has_round ? !has_quotient && !has_rest : has_quotient && has_rest;
  }

  const Kernel& kernel_;
  const Loop& loop_;
  const std::vector<IndexWidth>& widths_;
  VectorPlan plan_;
  std::set<ValueId> fixed_;  // the same in all rounds of a thread
  std::set<ValueId> along_;  // the rest and a multiple of the width
};

}  // namespace

std::optional<VectorPlan> VectorPlanOf(const Kernel& kernel, const Loop& loop, const std::vector<IndexWidth>& widths) {
  return VectorPlanner(kernel, loop, widths).Make();
}

}  // namespace hearth::fuser
