#include "jit/fuser/cuda/index_widths.h"

#include <algorithm>
#include <limits>

namespace hearth::fuser {
namespace {

class WidthFinder {
 public:
  WidthFinder(const Kernel& kernel, const Loop& loop)
      : kernel_(kernel),
        dtypes_(DtypesOf(kernel)),
        definitions_(kernel.num_values),
        fits_(kernel.num_values),
        is_not_negative_(kernel.num_values),
        is_address_(kernel.num_values, true) {
    for (const Statement& statement : kernel.prologue)
      definitions_[statement.instruction.result] = &statement.instruction;
    for (const Buffer& buffer : kernel.buffers) {
      for (const ValueId size : buffer.sizes) SetFits(size, true);
    }
    AssumeRounds(loop.extent);
    for (const Statement& statement : kernel.prologue) FindFitting(statement.instruction);
    SetFits(loop.index, true);
    FindFitting(loop.body);
    // Against the order of definitions, so that all uses of a value are seen before its own operands are.
    ExcludeOtherUses(loop.body);
    for (auto statement = kernel.prologue.rbegin(); statement != kernel.prologue.rend(); ++statement) {
      ExcludeUses(statement->instruction);
    }
  }

  std::vector<IndexWidth> Take() const {
    std::vector<IndexWidth> widths(kernel_.num_values, IndexWidth::kWide);
    for (ValueId value = 0; value < widths.size(); ++value) {
      if (dtypes_[value] != Dtype::kInt64) continue;
      if (fits_[value]) {
        widths[value] = IndexWidth::kNarrow;
      } else if (is_address_[value] && CanBeModulo(value)) {
        widths[value] = IndexWidth::kModulo;
      }
    }
    return widths;
  }

 private:
  void SetFits(ValueId value, bool is_not_negative) {
    fits_[value] = true;
    if (is_not_negative) is_not_negative_[value] = true;
  }

  // Where a round runs, the extent is positive and fits, and so do the factors that it is the product of.
  void AssumeRounds(ValueId value) {
    SetFits(value, true);
    const Instruction* definition = definitions_[value];
    if (definition == nullptr) return;
    if (definition->opcode == Opcode::kMaximum) {
      const Instruction* least = definitions_[definition->operands[1]];
      if (least != nullptr && least->opcode == Opcode::kConstant && least->integer == 0) {
        AssumeRounds(definition->operands[0]);
      }
      return;
    }
    if (definition->opcode != Opcode::kMultiply) return;
    // Of two factors that may be negative, both could be.
    if (std::ranges::any_of(definition->operands, [&](ValueId factor) { return CannotBeNegative(factor); })) {
      for (const ValueId factor : definition->operands) AssumeRounds(factor);
    }
  }

  bool CannotBeNegative(ValueId value) const {
    if (is_not_negative_[value]) return true;
    const Instruction* definition = definitions_[value];
    if (definition == nullptr) return false;
    if (definition->opcode == Opcode::kConstant) return definition->integer >= 0;
    return definition->opcode == Opcode::kMaximum &&
           std::ranges::any_of(definition->operands, [&](ValueId operand) { return CannotBeNegative(operand); });
  }

  // ---- What fits into 32 bits ----

  void FindFitting(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        FindFitting(statement.instruction);
        continue;
      }
      if (fits_[statement.loop->extent]) SetFits(statement.loop->index, true);
      FindFitting(statement.loop->body);
    }
  }

  void FindFitting(const Instruction& instruction) {
    if (instruction.result == kNoValue || instruction.dtype != Dtype::kInt64) return;
    definitions_[instruction.result] = &instruction;
    const std::vector<ValueId>& operands = instruction.operands;
    const auto all = [&](const std::vector<bool>& of, size_t first = 0) {
      return std::all_of(operands.begin() + static_cast<ptrdiff_t>(first), operands.end(),
                         [&](ValueId operand) { return of[operand]; });
    };
    switch (instruction.opcode) {
      case Opcode::kConstant:
        if (instruction.integer >= std::numeric_limits<int32_t>::min() &&
            instruction.integer <= std::numeric_limits<int32_t>::max()) {
          SetFits(instruction.result, instruction.integer >= 0);
        }
        return;
      case Opcode::kCast:
        if (!IsFloating(dtypes_[operands[0]]) && dtypes_[operands[0]] != Dtype::kInt64) {
          SetFits(instruction.result, dtypes_[operands[0]] <= Dtype::kUint8);
        }
        return;
      case Opcode::kSubtract:
        if (all(fits_) && all(is_not_negative_)) SetFits(instruction.result, false);
        return;
      case Opcode::kDivide:
      case Opcode::kFloorDivide:
      case Opcode::kRemainder:
      case Opcode::kFmod:
        if (all(fits_) && all(is_not_negative_)) SetFits(instruction.result, true);
        return;
      case Opcode::kMultiply:
        if (all(fits_) && all(is_not_negative_) && IsPartOfDividend(instruction)) SetFits(instruction.result, true);
        return;
      case Opcode::kWithin:
        if (fits_[operands[1]]) SetFits(instruction.result, true);
        return;
      case Opcode::kMinimum:
        if (all(fits_)) SetFits(instruction.result, all(is_not_negative_));
        return;
      case Opcode::kMaximum:
        if (all(fits_)) SetFits(instruction.result, is_not_negative_[operands[0]] || is_not_negative_[operands[1]]);
        return;
      case Opcode::kSelect:
        if (all(fits_, 1)) SetFits(instruction.result, all(is_not_negative_, 1));
        return;
      default:
        return;
    }
  }

  // (x / n) * n is not more than x.
  bool IsPartOfDividend(const Instruction& product) const {
    const Instruction* quotient = definitions_[product.operands[0]];
    return quotient != nullptr && quotient->opcode == Opcode::kDivide && quotient->operands[1] == product.operands[1] &&
           fits_[quotient->operands[0]];
  }

  // ---- What is only part of addresses ----

  bool CanBeModulo(ValueId value) const {
    if (value < kernel_.symbols.size()) return true;
    return definitions_[value] != nullptr && IsModular(definitions_[value]->opcode);
  }

  void ExcludeOtherUses(const Body& body) {
    for (auto statement = body.rbegin(); statement != body.rend(); ++statement) {
      if (statement->loop == nullptr) {
        ExcludeUses(statement->instruction);
        continue;
      }
      const Loop& loop = *statement->loop;
      is_address_[loop.extent] = false;
      for (const Accumulator& accumulator : loop.accumulators) is_address_[accumulator.element] = false;
      for (const Carried& carried : loop.carried) is_address_[carried.initial] = is_address_[carried.next] = false;
      ExcludeOtherUses(loop.body);
    }
  }

  void ExcludeUses(const Instruction& instruction) {
    const bool is_address =
        instruction.result != kNoValue && is_address_[instruction.result] && !fits_[instruction.result];
    if (IsModular(instruction.opcode) && instruction.dtype == Dtype::kInt64 && is_address) return;
    // Of a load all operands are indices; the others have a value or a condition first.
    const size_t other = instruction.opcode == Opcode::kLoad ? 0
                         : TouchesMemory(instruction.opcode) ? 1
                                                             : instruction.operands.size();
    for (size_t i = 0; i < other; ++i) is_address_[instruction.operands[i]] = false;
  }

  const Kernel& kernel_;
  const std::vector<Dtype> dtypes_;
  std::vector<const Instruction*> definitions_;
  std::vector<bool> fits_;
  std::vector<bool> is_not_negative_;
  std::vector<bool> is_address_;
};

}  // namespace

bool IsModular(Opcode opcode) {
  return opcode == Opcode::kAdd || opcode == Opcode::kSubtract || opcode == Opcode::kMultiply ||
         opcode == Opcode::kNegate;
}

std::vector<IndexWidth> IndexWidthsIn(const Kernel& kernel, const Loop& loop_at_top) {
  return WidthFinder(kernel, loop_at_top).Take();
}

}  // namespace hearth::fuser
