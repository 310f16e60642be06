// Statements that change something in place, or end the run: augmented assignment, del, raise, assert.
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

namespace {

// The operator that changes its first argument in place, where there is one for that type.
const char* InPlaceOperator(tree::BinaryOperator op, c10::TypeKind kind) {
  const bool is_tensor = kind == c10::TypeKind::TensorType;
  switch (op) {
    case tree::BinaryOperator::kAdd:
      return is_tensor || kind == c10::TypeKind::ListType ? "add_" : nullptr;
    case tree::BinaryOperator::kMultiply:
      return is_tensor || kind == c10::TypeKind::ListType ? "mul_" : nullptr;
    case tree::BinaryOperator::kSubtract:
      return is_tensor ? "sub_" : nullptr;
    case tree::BinaryOperator::kDivide:
      return is_tensor ? "div_" : nullptr;
    case tree::BinaryOperator::kModulo:
      return is_tensor ? "fmod_" : nullptr;
    case tree::BinaryOperator::kBitAnd:
      return is_tensor ? "bitwise_and" : nullptr;
    case tree::BinaryOperator::kBitOr:
      return is_tensor ? "__or__" : nullptr;
    case tree::BinaryOperator::kBitXor:
      return is_tensor ? "__xor__" : nullptr;
    case tree::BinaryOperator::kShiftLeft:
      return is_tensor ? "__lshift__" : nullptr;
    case tree::BinaryOperator::kShiftRight:
      return is_tensor ? "__rshift__" : nullptr;
    default:
      return nullptr;
  }
}

const char* MagicInPlace(tree::BinaryOperator op) {
  switch (op) {
    case tree::BinaryOperator::kAdd:
      return "__iadd__";
    case tree::BinaryOperator::kSubtract:
      return "__isub__";
    case tree::BinaryOperator::kMultiply:
      return "__imul__";
    case tree::BinaryOperator::kDivide:
      return "__itruediv__";
    case tree::BinaryOperator::kModulo:
      return "__imod__";
    default:
      return "";
  }
}

}  // namespace

void Emitter::EmitAugAssign(const tree::AugAssign& assign) {
  const SourceRange& range = assign.range;
  const auto combine = [&](Value* old) -> Value* {
    Value* value = EmitExpr(*assign.value, old->type()->kind() == c10::TypeKind::ListType ? old->type() : nullptr);
    if (Value* magic = TryMagicMethod(MagicInPlace(assign.op), {{old, value}}, range)) return magic;
    if (const char* in_place = InPlaceOperator(assign.op, old->type()->kind())) {
      return CallOperator("aten", in_place, {old, value}, range);
    }
    return EmitBinary(assign.op, old, value, range);
  };
  switch (assign.target->kind) {
    case Kind::kName: {
      const auto* name = cast<tree::Name>(assign.target);
      Value* old = EmitExpr(*name);
      const Environment::Binding* binding = environment_.Find(name->id);
      TypePtr declared = binding ? binding->declared : nullptr;
      Value* changed = combine(old);
      if (declared && !IsSubtype(changed->type(), declared)) declared = nullptr;
      return SetVariable(name->id, changed, range, std::move(declared));
    }
    case Kind::kAttribute: {
      const auto* attribute = cast<tree::Attribute>(assign.target);
      Value* object = EmitExpr(*attribute->value);
      Value* old = AsValue(GetValueAttribute(object, attribute->attr, range), range);
      return SetAttribute(object, attribute->attr, combine(old), range);
    }
    case Kind::kSubscript: {
      const auto* subscript = cast<tree::Subscript>(assign.target);
      Value* container = EmitExpr(*subscript->value);
      if (container->type()->kind() == c10::TypeKind::TensorType) {
        // A view is changed in place; what tensors have picked is put back.
        const TensorPart part = EmitTensorPart(container, *subscript);
        if (part.indices) {
          Value* changed = combine(CallOperator("aten", "index", {part.view, part.indices}, range));
          CallOperator("aten", "index_put_", {part.view, part.indices, changed}, range);
        } else {
          combine(part.view);
        }
        return;
      }
      if (subscript->indices.size() != 1) Fail(range, "a container takes one index");
      RequireAssignable(*container, range);
      Value* index = EmitExpr(*subscript->indices.front());
      Value* old = TryMagicMethod("__getitem__", {{container, index}}, range);
      if (!old) old = CallOperator("aten", "__getitem__", {container, index}, range);
      Value* changed = combine(old);
      if (TryMagicMethod("__setitem__", {{container, index, changed}}, range)) return;
      CallOperator("aten", "_set_item", {container, index, changed}, range);
      return;
    }
    default:
      Fail(assign.target->range, "cannot assign to this expression");
  }
}

void Emitter::EmitDelete(const tree::Delete& statement) {
  for (const tree::Expr* target : statement.targets) {
    if (const auto* name = dyn_cast<tree::Name>(target)) {
      EmitName(*name);  // must be there
      environment_.Set(environment_.Id(name->id), Unbound{"was deleted"});
      continue;
    }
    const auto* subscript = dyn_cast<tree::Subscript>(target);
    if (!subscript || subscript->indices.size() != 1) Fail(target->range, "this cannot be deleted");
    Value* container = EmitExpr(*subscript->value);
    Value* index = EmitExpr(*subscript->indices.front());
    if (TryMagicMethod("__delitem__", {{container, index}}, target->range)) continue;
    CallOperator("aten", "Delete", {container, index}, target->range);
  }
}

void Emitter::EmitRaise(const tree::Raise& raise) {
  const SourceRange& range = raise.range;
  if (!raise.exception) Fail(range, "raise needs an exception");
  const OperatorSet* set = resolver_.operators().Find("prim", "RaiseException");
  std::vector<Value*> arguments;
  const auto* call = dyn_cast<tree::Call>(raise.exception);
  const SugaredValue callee = EmitSugared(call ? *call->callee : *raise.exception);
  const auto* exception = std::get_if<ExceptionValue>(&callee);
  if (!exception) {
    Fail(range, std::string("only an exception class can be raised, but this is ") + Describe(callee));
  }
  Value* message = nullptr;
  if (call && !call->args.empty()) {
    if (call->args.size() == 1) {
      message = EmitExpr(*call->args.front());
    } else {
      const std::vector<Value*> values = EmitElements(call->args, nullptr);
      std::vector<TypePtr> types;
      for (Value* value : values) types.push_back(value->type());
      message = InsertConstruct(sym::kTupleConstruct, values, c10::TupleType::create(std::move(types)), range);
    }
    if (message->type()->kind() != c10::TypeKind::StringType) {
      message = CallOperator("aten", "str", {message}, range);
    }
  }
  if (exception->name == "AssertionError") {
    // As assert: without a class, which is part of the message.
    Value* text = StringConstant("AssertionError: ");
    arguments.push_back(message ? CallOperator("aten", "add", {text, message}, range) : text);
  } else {
    arguments.push_back(message ? message : StringConstant(""));
    // A class without parentheses loses its name, as in torch.jit.
    const bool builtin = exception->name.find('.') == std::string_view::npos;
    if (call) arguments.push_back(StringConstant((builtin ? "builtins." : "") + std::string(exception->name)));
  }
  CallOperator(*set, {arguments, {}}, range);
}

void Emitter::EmitAssert(const tree::Assert& statement) {
  Value* condition = EmitCondition(*statement.condition);
  Exits raises;
  raises.always = true;
  EmitIfElse(
      condition, statement.range, [] {}, {},
      [&] {
        Value* text = StringConstant("AssertionError: ");
        if (statement.message) {
          Value* message = EmitExpr(*statement.message);
          if (message->type()->kind() != c10::TypeKind::StringType) {
            message = CallOperator("aten", "str", {message}, statement.range);
          }
          text = CallOperator("aten", "add", {text, message}, statement.range);
        }
        const OperatorSet* set = resolver_.operators().Find("prim", "RaiseException");
        Value* const arguments[] = {text};
        CallOperator(*set, {arguments, {}}, statement.range);
      },
      raises);
  Refine(*statement.condition, true);
}

}  // namespace hearth
