#include "jit/definitions/in_place_forms.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "jit/definitions/node_effects.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

bool IsTensor(const c10::Argument& argument) { return argument.type()->kind() == c10::TypeKind::TensorType; }

bool TakesTensorFirst(const c10::FunctionSchema& schema) {
  return !schema.arguments().empty() && IsTensor(schema.arguments()[0]) && schema.returns().size() == 1 &&
         IsTensor(schema.returns()[0]);
}

bool AreOfOneName(const c10::FunctionSchema& functional, const c10::FunctionSchema& in_place) {
  return functional.overload_name() == in_place.overload_name() && functional.name() + "_" == in_place.name();
}

bool Writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// Whether `in_place` writes its first operand where `functional` makes a new tensor, and they take the same.
bool AreForms(const Operator& functional, const Operator& in_place) {
  const c10::FunctionSchema& makes = functional.schema();
  const c10::FunctionSchema& writes = in_place.schema();
  if (!TakesTensorFirst(makes) || !TakesTensorFirst(writes) || !AreOfOneName(makes, writes)) return false;
  if (!IsPure(functional) || functional.announced_effects().may_alias || in_place.is_vararg() ||
      functional.is_vararg()) {
    return false;
  }
  const OperatorEffects effects = EffectsOf(in_place);
  if (effects.nondeterministic || effects.has_side_effect) return false;
  const auto writes_first_alone = [&](const c10::Argument& argument) {
    return Writes(argument) == (&argument == &writes.arguments()[0]);
  };
  return std::ranges::all_of(writes.arguments(), writes_first_alone) && Writes(writes.returns()[0]) &&
         std::ranges::equal(makes.arguments(), writes.arguments(), [](const c10::Argument& a, const c10::Argument& b) {
           return a.name() == b.name() && *a.type() == *b.type();
         });
}

}  // namespace

const Operator* FunctionalForm(const Operator& op) {
  std::string name = op.schema().name();
  if (!name.ends_with("_")) return nullptr;
  name.pop_back();
  const Operator* form =
      OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name), op.schema().overload_name());
  return form != nullptr && AreForms(*form, op) ? form : nullptr;
}

const Operator* InPlaceForm(const Operator& op) {
  const Operator* form = OperatorRegistry::Global().Find(c10::Symbol::fromQualString(op.schema().name() + "_"),
                                                         op.schema().overload_name());
  return form != nullptr && AreForms(op, *form) ? form : nullptr;
}

}  // namespace hearth
