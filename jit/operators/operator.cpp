#include "jit/operators/operator.h"

#include <ATen/core/jit_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/QScheme.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace hearth {
namespace {

// How many things an argument may stand for; 0 if it is no such number. Operators of the dispatcher tell by their
// argument's real type, the others by its name.
int64_t CountOf(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  const bool is_int = type->kind() == c10::TypeKind::IntType;
  const std::string& name = argument.name();
  if (type->kind() == c10::TypeKind::ScalarTypeType || (is_int && name == "dtype")) {
    return static_cast<int64_t>(c10::ScalarType::Undefined);
  }
  if (type->kind() == c10::TypeKind::LayoutType || (is_int && name == "layout")) {
    return static_cast<int64_t>(c10::Layout::NumOptions);
  }
  if (type->kind() == c10::TypeKind::MemoryFormatType || (is_int && name == "memory_format")) {
    return static_cast<int64_t>(c10::MemoryFormat::NumOptions);
  }
  if (type->kind() == c10::TypeKind::QSchemeType || (is_int && name == "qscheme"))
    return c10::COMPILE_TIME_NUM_QSCHEMES;
  return 0;
}

}  // namespace

std::vector<Operator::Enumeration> Operator::FindEnumerations(const c10::FunctionSchema& schema) {
  std::vector<Enumeration> found;
  if (schema.is_vararg()) return found;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (const int64_t count = CountOf(schema.arguments()[i])) found.push_back({i, count});
  }
  return found;
}

void Operator::CheckEnumerations(const torch::jit::Stack& stack) const {
  const size_t arguments = schema_->arguments().size();
  for (const Enumeration& enumeration : enumerations_) {
    const c10::IValue& value = stack[stack.size() - arguments + enumeration.argument];
    if (!value.isInt()) continue;
    TORCH_CHECK(value.toInt() >= 0 && value.toInt() < enumeration.count, schema_->name(), ": ",
                schema_->arguments()[enumeration.argument].name(), " must be a number from 0 to ",
                enumeration.count - 1, ", but is ", value.toInt());
  }
}

}  // namespace hearth
