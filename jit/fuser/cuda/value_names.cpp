#include "jit/fuser/cuda/value_names.h"

#include "jit/fuser/cuda/operations_in_cuda.h"

namespace hearth::fuser {

std::string NameOfValue(ValueId value) { return "v" + std::to_string(value); }

ValueNames::ValueNames(const Kernel& kernel, const Loop& loop_at_top, bool wide)
    : dtypes_(DtypesOf(kernel)),
      widths_(wide ? std::vector<IndexWidth>(kernel.num_values, IndexWidth::kWide)
                   : IndexWidthsIn(kernel, loop_at_top)),
      constants_(kernel.num_values) {
  FindConstants(kernel.prologue);
  FindConstants(loop_at_top.body);
}

void ValueNames::FindConstants(const Body& body) {
  for (const Statement& statement : body) {
    if (statement.loop != nullptr) {
      FindConstants(statement.loop->body);
    } else if (statement.instruction.opcode == Opcode::kConstant) {
      constants_[statement.instruction.result] = &statement.instruction;
    }
  }
}

bool ValueNames::IsConstant(ValueId value, int64_t integer) const {
  return constants_[value] != nullptr && constants_[value]->integer == integer;
}

std::string ValueNames::TypeOf(ValueId value) const {
  if (widths_[value] == IndexWidth::kNarrow) return "int";
  if (widths_[value] == IndexWidth::kModulo) return "unsigned";
  return std::string(CTypeOf(dtypes_[value]));
}

std::string ValueNames::NameOf(ValueId value) const {
  const Instruction* constant = constants_[value];
  if (constant == nullptr) return NameOfValue(value);
  return widths_[value] == IndexWidth::kNarrow ? IntegerLiteral(constant->integer, Dtype::kInt32)
                                               : LiteralOf(*constant);
}

std::string ValueNames::Operand(ValueId value) const {
  if (constants_[value] != nullptr) return LiteralOf(*constants_[value]);
  return widths_[value] == IndexWidth::kWide ? NameOfValue(value) : "(long long)" + NameOfValue(value);
}

}  // namespace hearth::fuser
