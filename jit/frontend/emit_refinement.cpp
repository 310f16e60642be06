// What a condition tells about the types of variables: after `x is not None`, an Optional[T] is a T. Conditions that
// types decide alone (`x is None` of an int, isinstance of a known type, hasattr) choose their branch while compiling,
// and the other one is not compiled, as TorchScript does.
#include <algorithm>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

namespace {

// The members of a Union or an Optional; of another type, itself.
std::vector<TypePtr> Members(const TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    std::vector<TypePtr> members = Members(optional->getElementType());
    members.push_back(c10::NoneType::get());
    return members;
  }
  if (type->kind() == c10::TypeKind::UnionType) return {type->containedTypes().begin(), type->containedTypes().end()};
  return {type};
}

TypePtr Unite(std::vector<TypePtr> members) {
  if (members.empty()) return nullptr;
  TypePtr type = members.front();
  for (size_t i = 1; i < members.size(); ++i) {
    const auto unified = c10::unifyTypes(type, members[i], /*default_to_union=*/true);
    if (!unified) return nullptr;
    type = *unified;
  }
  return type;
}

// The operand of `x is None`, `x is not None` and the mirrored forms; null for another expression.
struct NoneTest {
  const tree::Expr* operand = nullptr;
  bool is_none = false;
};

NoneTest FindNoneTest(const tree::Expr& expr) {
  const auto* compare = dyn_cast<tree::Compare>(&expr);
  if (!compare || compare->comparisons.size() != 1) return {};
  const tree::Comparison& comparison = compare->comparisons.front();
  const bool is = comparison.op == tree::CompareOperator::kIs;
  if (!is && comparison.op != tree::CompareOperator::kIsNot) return {};
  if (comparison.right->kind == Kind::kNoneConstant) return {compare->left, is};
  if (compare->left->kind == Kind::kNoneConstant) return {comparison.right, is};
  return {};
}

const tree::Call* FindCallOf(const tree::Expr& expr, std::string_view name) {
  const auto* call = dyn_cast<tree::Call>(&expr);
  if (!call || call->args.size() != 2 || !call->keywords.empty()) return nullptr;
  const auto* callee = dyn_cast<tree::Name>(call->callee);
  if (callee ? callee->id == name : call->callee->range.text() == "torch.jit." + std::string(name)) return call;
  return nullptr;
}

}  // namespace

TypePtr Emitter::TypeOf(const tree::Expr& expr) {
  if (const auto* name = dyn_cast<tree::Name>(&expr)) {
    const Environment::Binding* binding = environment_.Find(name->id);
    return binding && binding->ssa() ? binding->ssa()->type() : nullptr;
  }
  if (const auto* attribute = dyn_cast<tree::Attribute>(&expr)) {
    const TypePtr owner = TypeOf(*attribute->value);
    const auto* type = owner ? owner->castRaw<c10::ClassType>() : nullptr;
    return type ? type->findAttribute(std::string(attribute->attr)) : nullptr;
  }
  return expr.kind == Kind::kNoneConstant ? TypePtr(c10::NoneType::get()) : nullptr;
}

std::optional<bool> Emitter::DecideCondition(const tree::Expr& condition) {
  if (const auto* literal = dyn_cast<tree::BoolConstant>(&condition)) return literal->value;
  if (const NoneTest test = FindNoneTest(condition); test.operand) {
    const TypePtr type = TypeOf(*test.operand);
    if (!type) return std::nullopt;
    if (type->kind() == c10::TypeKind::NoneType) return test.is_none;
    if (type->kind() == c10::TypeKind::AnyType || IsSubtype(c10::NoneType::get(), type)) return std::nullopt;
    return !test.is_none;
  }
  if (const tree::Call* call = FindCallOf(condition, "isinstance")) {
    const TypePtr type = TypeOf(*call->args[0]);
    if (!type) return std::nullopt;
    std::vector<TypePtr> classes;
    GatherTypes(*call->args[1], &classes);
    return DecideInstance(type, classes);
  }
  if (const tree::Call* call = FindCallOf(condition, "hasattr")) {
    const TypePtr type = TypeOf(*call->args[0]);
    const auto* name = dyn_cast<tree::StringConstant>(call->args[1]);
    const auto* class_type = type ? type->castRaw<c10::ClassType>() : nullptr;
    if (!name || !class_type) return std::nullopt;
    const std::string text(name->value);
    return class_type->hasAttribute(text) || FindMethod(*class_type, text) || class_type->hasConstant(text);
  }
  if (const auto* call = dyn_cast<tree::Call>(&condition); call && resolver_.written()) {
    if (call->callee->range.text() == "torch.jit.is_scripting") return true;
    if (call->callee->range.text() == "torch.jit.is_tracing") return false;
  }
  if (const auto* op = dyn_cast<tree::UnaryOp>(&condition); op && op->op == tree::UnaryOperator::kNot) {
    const std::optional<bool> operand = DecideCondition(*op->operand);
    return operand ? std::optional<bool>(!*operand) : std::nullopt;
  }
  if (const auto* op = dyn_cast<tree::BoolOp>(&condition)) {
    // Decided by the first operand that decides it, or by all together.
    const bool decisive = op->op == tree::BoolOperator::kOr;
    for (const tree::Expr* operand : op->values) {
      const std::optional<bool> one = DecideCondition(*operand);
      if (!one) return std::nullopt;
      if (*one == decisive) return decisive;
    }
    return !decisive;
  }
  return std::nullopt;
}

void Emitter::Refine(const tree::Expr& condition, bool outcome) {
  if (const NoneTest test = FindNoneTest(condition); test.operand) {
    const auto* name = dyn_cast<tree::Name>(test.operand);
    const TypePtr type = name ? TypeOf(*name) : nullptr;
    if (!type || test.is_none == outcome) return;
    std::vector<TypePtr> members = Members(type);
    std::erase_if(members, [](const TypePtr& member) { return member->kind() == c10::TypeKind::NoneType; });
    return RefineVariable(*name, type, Unite(std::move(members)));
  }
  if (const tree::Call* call = FindCallOf(condition, "isinstance")) {
    const auto* name = dyn_cast<tree::Name>(call->args[0]);
    const TypePtr type = name ? TypeOf(*name) : nullptr;
    if (!type) return;
    std::vector<TypePtr> classes;
    GatherTypes(*call->args[1], &classes);
    std::vector<TypePtr> members = Members(type);
    const bool open = type->kind() == c10::TypeKind::AnyType || type->kind() == c10::TypeKind::NumberType;
    if (open) {
      if (outcome && classes.size() == 1) RefineVariable(*name, type, classes.front());
      return;
    }
    std::erase_if(members, [&](const TypePtr& member) {
      const bool fits =
          std::any_of(classes.begin(), classes.end(), [&](const TypePtr& wanted) { return IsSubtype(member, wanted); });
      return fits != outcome;
    });
    return RefineVariable(*name, type, Unite(std::move(members)));
  }
  if (const auto* op = dyn_cast<tree::UnaryOp>(&condition); op && op->op == tree::UnaryOperator::kNot) {
    return Refine(*op->operand, !outcome);
  }
  if (const auto* op = dyn_cast<tree::BoolOp>(&condition)) {
    // All operands of a true `and` are true, of a false `or` false.
    if (outcome != (op->op == tree::BoolOperator::kAnd)) return;
    for (const tree::Expr* operand : op->values) Refine(*operand, outcome);
  }
}

void Emitter::RefineVariable(const tree::Name& name, const TypePtr& from, const TypePtr& to) {
  if (!to || *to == *from || !IsSubtype(to, from)) return;
  const Environment::VariableId id = environment_.Id(name.id);
  const Environment::Binding& binding = environment_.Find(id);
  Value* original = binding.original ? binding.original : binding.ssa();
  Value* refined = Insert(sym::kUncheckedCast, {binding.ssa()}, to, name.range);
  refined->SetName(std::string(name.id));
  environment_.SetRefined(id, refined, original);
}

}  // namespace hearth
