// Builtins that are more than an operator: casts, annotate, isinstance, getattr, fork, ...
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

void ExpectArguments(const tree::Call& call, size_t at_least, size_t at_most, const char* name) {
  if (call.args.size() >= at_least && call.args.size() <= at_most && call.keywords.empty()) return;
  std::string wanted = std::to_string(at_least);
  if (at_most != at_least) wanted += " to " + std::to_string(at_most);
  Fail(call.range, std::string(name) + " takes " + wanted + " positional arguments but " +
                       std::to_string(call.args.size() + call.keywords.size()) + " were given");
}

}  // namespace

SugaredValue Emitter::EmitSpecialForm(const SpecialFormValue& form, const tree::Call& call, const TypePtr& hint) {
  switch (form.form) {
    case SpecialForm::kBool:
    case SpecialForm::kComplex:
    case SpecialForm::kFloat:
    case SpecialForm::kInt:
    case SpecialForm::kStr:
      return EmitCast(form.form, call);
    case SpecialForm::kAnnotate:
      return EmitAnnotate(call);
    case SpecialForm::kUncheckedCast: {
      ExpectArguments(call, 2, 2, "unchecked_cast");
      TypePtr type = resolver_.ResolveType(*call.args[0]);
      return Insert(sym::kUncheckedCast, {EmitExpr(*call.args[1])}, std::move(type), call.range);
    }
    case SpecialForm::kUninitialized:
      ExpectArguments(call, 1, 1, "uninitialized");
      return Uninitialized(resolver_.ResolveType(*call.args[0]), call.range);
    case SpecialForm::kIsInstance:
      return EmitIsInstance(call);
    case SpecialForm::kGetAttr:
      return EmitGetAttr(call);
    case SpecialForm::kHasAttr: {
      ExpectArguments(call, 2, 2, "hasattr");
      Value* object = EmitExpr(*call.args[0]);
      const auto* name = dyn_cast<tree::StringConstant>(call.args[1]);
      if (!name) Fail(call.range, "hasattr needs a string literal for its second argument");
      const auto* type = object->type()->castRaw<c10::ClassType>();
      const std::string text(name->value);
      const bool has = type && (type->hasAttribute(text) || FindMethod(*type, text) || type->hasConstant(text));
      return BoolConstant(has);
    }
    case SpecialForm::kFork:
      return EmitFork(call, sym::kFork);
    case SpecialForm::kAwaitable:
      return EmitFork(call, sym::kAwaitable);
    case SpecialForm::kLen: {
      ExpectArguments(call, 1, 1, "len");
      Value* value = EmitExpr(*call.args[0]);
      if (Value* magic = TryMagicMethod("__len__", {{value}}, call.range)) return magic;
      if (const auto* tuple = value->type()->castRaw<c10::TupleType>()) {
        return IntConstant(static_cast<int64_t>(tuple->elements().size()));
      }
      return CallOperator("aten", "len", {value}, call.range);
    }
    case SpecialForm::kRound: {
      const EvaluatedArguments arguments = EvaluateArguments(call);
      if (arguments.positional.size() == 1) {
        if (Value* magic = TryMagicMethod("__round__", arguments.positional, call.range)) return magic;
      }
      const OperatorSet* round = resolver_.operators().Find("aten", "round");
      return CallOperator(*round, {arguments.positional, arguments.named}, call.range);
    }
    case SpecialForm::kToTensor:
      ExpectArguments(call, 1, 1, "_to_tensor");
      return CallOperator("prim", "NumToTensor", {EmitExpr(*call.args[0])}, call.range);
    case SpecialForm::kToList: {
      if (!hint) {
        Fail(call.range, "tolist() needs its result's type declared, as in annotate(List[int], x.tolist())");
      }
      return Insert(sym::kToList, {form.self}, hint, call.range);
    }
    case SpecialForm::kTuple: {
      ExpectArguments(call, 0, 1, "tuple");
      std::vector<Value*> elements;
      if (!call.args.empty()) {
        const Iterable iterable = MakeIterable(*call.args[0]);
        if (!iterable.static_length) Fail(call.range, "tuple() needs something of a length known while compiling");
        for (size_t i = 0; i < *iterable.static_length; ++i) {
          elements.push_back(AsValue(iterable.at_static(i), call.range));
        }
      }
      std::vector<TypePtr> types;
      for (Value* element : elements) types.push_back(element->type());
      return InsertConstruct(sym::kTupleConstruct, elements, c10::TupleType::create(std::move(types)), call.range);
    }
    case SpecialForm::kList: {
      ExpectArguments(call, 0, 1, "list");
      if (call.args.empty()) {
        const auto* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::ListType>() : nullptr;
        TypePtr element = wanted ? wanted->getElementType() : TypePtr(c10::TensorType::get());
        return Insert(sym::kListConstruct, {}, c10::ListType::create(std::move(element)), call.range);
      }
      const auto* inner = dyn_cast<tree::Call>(call.args[0]);
      const auto* callee = inner ? dyn_cast<tree::Name>(inner->callee) : nullptr;
      if (!callee ||
          (callee->id != "range" && callee->id != "zip" && callee->id != "enumerate" && callee->id != "reversed")) {
        Value* value = EmitExpr(*call.args[0], hint);
        const c10::TypeKind kind = value->type()->kind();
        if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::StringType) {
          return CallOperator("aten", "list", {value}, call.range);
        }
        if (kind == c10::TypeKind::DictType) return CallOperator("aten", "keys", {value}, call.range);
        if (const auto* tuple = value->type()->castRaw<c10::TupleType>(); tuple && !tuple->elements().empty()) {
          const std::vector<Value*> elements = UnpackTuple(value, call.range);
          TypePtr type = c10::ListType::create(ElementType(elements, nullptr, "a list's elements", call.range));
          return InsertConstruct(sym::kListConstruct, elements, std::move(type), call.range);
        }
        Fail(call.range, "list() cannot take a value of type " + value->type()->annotation_str());
      }
      const Iterable iterable = MakeIterable(*call.args[0]);
      std::vector<Value*> elements;
      if (iterable.static_length) {
        for (size_t i = 0; i < *iterable.static_length; ++i) {
          elements.push_back(AsValue(iterable.at_static(i), call.range));
        }
        if (elements.empty()) return Insert(sym::kListConstruct, {}, c10::ListType::ofTensors(), call.range);
        TypePtr type = c10::ListType::create(ElementType(elements, nullptr, "a list's elements", call.range));
        return InsertConstruct(sym::kListConstruct, elements, std::move(type), call.range);
      }
      Value* list = Insert(sym::kListConstruct, {}, c10::ListType::ofInts(), call.range);
      EmitPlainLoop(iterable.length, BoolConstant(true), {}, call.range, [&](Value* round) {
        Value* element = AsValue(iterable.at(round), call.range);
        list->SetType(c10::ListType::create(element->type()));
        const OperatorSet* append = resolver_.operators().Find("aten", "append");
        Value* const arguments[] = {list, element};
        CallOperator(*append, {arguments, {}}, call.range);
        return BoolConstant(true);
      });
      return list;
    }
    case SpecialForm::kDict: {
      if (call.args.empty() && call.keywords.empty()) {
        const auto* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::DictType>() : nullptr;
        TypePtr type = wanted ? c10::DictType::create(wanted->getKeyType(), wanted->getValueType())
                              : c10::DictType::create(c10::StringType::get(), c10::TensorType::get());
        return Insert(sym::kDictConstruct, {}, std::move(type), call.range);
      }
      if (call.args.empty()) {
        std::vector<Value*> inputs;
        std::vector<Value*> values;
        for (const tree::Keyword& keyword : call.keywords) {
          values.push_back(EmitExpr(*keyword.value));
          inputs.insert(inputs.end(), {StringConstant(keyword.name), values.back()});
        }
        TypePtr value_type = ElementType(values, nullptr, "a dict's values", call.range);
        TypePtr type = c10::DictType::create(c10::StringType::get(), std::move(value_type));
        return InsertConstruct(sym::kDictConstruct, inputs, std::move(type), call.range);
      }
      const EvaluatedArguments arguments = EvaluateArguments(call);
      const OperatorSet* dict = resolver_.operators().Find("aten", "dict");
      return CallOperator(*dict, {arguments.positional, arguments.named}, call.range);
    }
    case SpecialForm::kTrue:
    case SpecialForm::kFalse:
      ExpectArguments(call, 0, 0, "this function");
      return BoolConstant(form.form == SpecialForm::kTrue);
    case SpecialForm::kEnumerate:
    case SpecialForm::kRange:
    case SpecialForm::kReversed:
    case SpecialForm::kZip:
      Fail(call.range, "this can only be iterated over, in a for statement or a comprehension");
    default:
      Fail(call.range, "this builtin cannot be called here");
  }
}

Value* Emitter::EmitCast(SpecialForm form, const tree::Call& call) {
  struct Cast {
    const char* name;
    const char* op;
    const char* magic;
    c10::TypeKind kind;
  };
  const auto describe = [&]() -> Cast {
    switch (form) {
      case SpecialForm::kBool:
        return {"bool", "Bool", "__bool__", c10::TypeKind::BoolType};
      case SpecialForm::kComplex:
        return {"complex", "Complex", "__complex__", c10::TypeKind::ComplexType};
      case SpecialForm::kFloat:
        return {"float", "Float", "__float__", c10::TypeKind::FloatType};
      case SpecialForm::kInt:
        return {"int", "Int", "__int__", c10::TypeKind::IntType};
      default:
        return {"str", "str", "__str__", c10::TypeKind::StringType};
    }
  };
  const Cast wanted = describe();
  const EvaluatedArguments arguments = EvaluateArguments(call);
  if (arguments.positional.size() == 1 && arguments.named.empty()) {
    Value* value = arguments.positional.front();
    if (value->type()->kind() == wanted.kind) return value;
    if (form == SpecialForm::kBool) return ToBool(value, call.range);
    if (Value* magic = TryMagicMethod(wanted.magic, {{value}}, call.range)) return magic;
  }
  const OperatorSet* op = resolver_.operators().Find("aten", wanted.op);
  return AsValue(CallOperator(*op, {arguments.positional, arguments.named}, call.range), call.range);
}

Value* Emitter::EmitAnnotate(const tree::Call& call) {
  ExpectArguments(call, 2, 2, "annotate");
  TypePtr type = resolver_.ResolveType(*call.args[0]);
  Value* value = EmitExpr(*call.args[1], type);
  if (value->type()->kind() == c10::TypeKind::NoneType && type->kind() != c10::TypeKind::NoneType &&
      IsSubtype(value->type(), type)) {
    return InsertPooled(c10::IValue(), std::move(type));  // keeps what it would be if it were not None
  }
  return ConvertTo(value, type, call.range, "the annotated value");
}

void Emitter::GatherTypes(const tree::Expr& expr, std::vector<TypePtr>* types) {
  if (const auto* tuple = dyn_cast<tree::Tuple>(&expr)) {
    for (const tree::Expr* element : tuple->elements) GatherTypes(*element, types);
    return;
  }
  types->push_back(resolver_.ResolveType(expr));
}

std::optional<bool> Emitter::DecideInstance(const TypePtr& type, std::span<const TypePtr> classes) {
  if (type->isUnionType()) {
    std::vector<TypePtr> members(type->containedTypes().begin(), type->containedTypes().end());
    if (type->kind() == c10::TypeKind::OptionalType) members.push_back(c10::NoneType::get());
    std::optional<bool> all;
    for (size_t i = 0; i < members.size(); ++i) {
      const std::optional<bool> one = DecideInstance(members[i], classes);
      if (!one || (i > 0 && one != all)) return std::nullopt;
      all = one;
    }
    return all;
  }
  bool perhaps = false;
  for (const TypePtr& wanted : classes) {
    if (IsSubtype(type, wanted)) return true;
    perhaps |= IsSubtype(wanted, type);
  }
  if (perhaps || type->kind() == c10::TypeKind::AnyType || type->kind() == c10::TypeKind::NumberType ||
      type->kind() == c10::TypeKind::InterfaceType) {
    return std::nullopt;
  }
  return false;
}

Value* Emitter::EmitIsInstance(const tree::Call& call) {
  ExpectArguments(call, 2, 2, "isinstance");
  Value* value = EmitExpr(*call.args[0]);
  std::vector<TypePtr> types;
  GatherTypes(*call.args[1], &types);
  if (const std::optional<bool> decided = DecideInstance(value->type(), types)) return BoolConstant(*decided);
  Value* result = Insert(sym::kIsInstance, {value}, c10::BoolType::get(), call.range);
  result->node()->SetAttribute(sym::kTypesAttr, std::move(types));
  return result;
}

SugaredValue Emitter::EmitGetAttr(const tree::Call& call) {
  ExpectArguments(call, 2, 3, "getattr");
  const auto* name = dyn_cast<tree::StringConstant>(call.args[1]);
  if (!name) Fail(call.range, "getattr needs a string literal for its second argument");
  const SugaredValue object = EmitSugared(*call.args[0]);
  if (call.args.size() == 3) {
    Value* value = AsValue(object, call.range);
    if (auto found = FindValueAttribute(value, name->value, call.range)) return std::move(*found);
    return EmitSugared(*call.args[2]);
  }
  return GetAttribute(object, name->value, call.range);
}

SugaredValue Emitter::EmitFork(const tree::Call& call, Symbol kind) {
  if (call.args.empty()) Fail(call.range, "fork takes the function to run as its first argument");
  const SugaredValue callee = EmitSugared(*call.args[0]);
  if (const auto* closure = std::get_if<ClosureValue>(&callee)) {
    return EmitClosure(*closure->definition, kind, call.range);
  }
  // A function, a method or a module, called with the other arguments.
  SugaredValue target = callee;
  if (Value* const* object = std::get_if<Value*>(&callee)) {
    const bool is_module = (*object)->type()->is_module();
    target = GetValueAttribute(*object, is_module ? "forward" : "__call__", call.range);
  }
  EvaluatedArguments arguments;
  for (const tree::Expr* argument : call.args.subspan(1)) arguments.positional.push_back(EmitExpr(*argument));
  for (const tree::Keyword& keyword : call.keywords) {
    arguments.named.push_back({keyword.name, EmitExpr(*keyword.value)});
  }
  if (auto* method = std::get_if<MethodValue>(&target)) {
    arguments.positional.insert(arguments.positional.begin(), method->self);
  }
  std::vector<Value*> inputs = arguments.positional;
  for (const NamedArgument& named : arguments.named) inputs.push_back(named.value);
  Node* node = InsertNode(kind, inputs, 1, call.range);
  Block* block = node->AddBlock();
  for (Value*& value : arguments.positional) value = block->AddParam(value->type());
  for (NamedArgument& named : arguments.named) named.value = block->AddParam(named.value->type());
  pools_.emplace_back(block);
  Value* result = nullptr;
  EmitBranch(block, [&] {
    const CallArguments given{arguments.positional, arguments.named};
    if (const auto* function = std::get_if<FunctionValue>(&target)) {
      result = CallFunction(*function->function, given, call.range);
    } else if (const auto* method = std::get_if<MethodValue>(&target)) {
      result = CallMethod(*method->schema, method->function, given, call.range);
    } else if (const auto* op = std::get_if<OperatorValue>(&target)) {
      result = AsValue(CallOperator(*op->set, {given.positional, given.named, op->self}, call.range), call.range);
    } else {
      Fail(call.range, std::string(Describe(target)) + " cannot be forked");
    }
  });
  pools_.pop_back();
  block->AddReturn(result);
  if (kind == sym::kFork) {
    node->output()->SetType(c10::FutureType::create(result->type()));
  } else {
    node->output()->SetType(c10::AwaitType::create(result->type()));
  }
  return node->output();
}

}  // namespace hearth
