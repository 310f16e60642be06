// Expressions: names, literals, operators.
#include <limits>
#include <sstream>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

namespace {

// What a name means that no variable has taken.
struct Global {
  enum class Kind { kForm, kAten, kPrim, kNamespace, kNumber, kException };
  Kind kind;
  SpecialForm form{};
  NamespaceValue::Kind space{};
  double number = 0;
};

const Global* FindGlobal(std::string_view name) {
  using K = Global::Kind;
  const auto form = [](SpecialForm f) { return Global{K::kForm, f}; };
  const auto space = [](NamespaceValue::Kind k) { return Global{K::kNamespace, {}, k}; };
  static const auto* const globals = new std::unordered_map<std::string_view, Global>{
      {"torch", space(NamespaceValue::Kind::kTorch)},
      {"ops", space(NamespaceValue::Kind::kOperators)},
      {"CONSTANTS", space(NamespaceValue::Kind::kConstants)},
      {"__torch__", space(NamespaceValue::Kind::kArchive)},
      {"annotate", form(SpecialForm::kAnnotate)},
      {"awaitable", form(SpecialForm::kAwaitable)},
      {"bool", form(SpecialForm::kBool)},
      {"complex", form(SpecialForm::kComplex)},
      {"dict", form(SpecialForm::kDict)},
      {"enumerate", form(SpecialForm::kEnumerate)},
      {"float", form(SpecialForm::kFloat)},
      {"fork", form(SpecialForm::kFork)},
      {"getattr", form(SpecialForm::kGetAttr)},
      {"hasattr", form(SpecialForm::kHasAttr)},
      {"int", form(SpecialForm::kInt)},
      {"isinstance", form(SpecialForm::kIsInstance)},
      {"len", form(SpecialForm::kLen)},
      {"list", form(SpecialForm::kList)},
      {"range", form(SpecialForm::kRange)},
      {"reversed", form(SpecialForm::kReversed)},
      {"round", form(SpecialForm::kRound)},
      {"str", form(SpecialForm::kStr)},
      {"tuple", form(SpecialForm::kTuple)},
      {"unchecked_cast", form(SpecialForm::kUncheckedCast)},
      {"uninitialized", form(SpecialForm::kUninitialized)},
      {"zip", form(SpecialForm::kZip)},
      {"_to_tensor", form(SpecialForm::kToTensor)},
      {"all", {K::kAten}},
      {"any", {K::kAten}},
      {"bin", {K::kAten}},
      {"chr", {K::kAten}},
      {"divmod", {K::kAten}},
      {"hash", {K::kAten}},
      {"hex", {K::kAten}},
      {"oct", {K::kAten}},
      {"ord", {K::kAten}},
      {"pow", {K::kAten}},
      {"sorted", {K::kAten}},
      {"sum", {K::kAten}},
      {"abs", {K::kPrim}},
      {"id", {K::kPrim}},
      {"max", {K::kPrim}},
      {"min", {K::kPrim}},
      {"print", {K::kPrim}},
      {"rangelist", {K::kPrim}},
      {"inf", {K::kNumber, {}, {}, std::numeric_limits<double>::infinity()}},
      {"nan", {K::kNumber, {}, {}, std::numeric_limits<double>::quiet_NaN()}},
      {"AssertionError", {K::kException}},
      {"AttributeError", {K::kException}},
      {"Exception", {K::kException}},
      {"IndexError", {K::kException}},
      {"KeyError", {K::kException}},
      {"NotImplementedError", {K::kException}},
      {"RuntimeError", {K::kException}},
      {"TypeError", {K::kException}},
      {"ValueError", {K::kException}},
  };
  const auto found = globals->find(name);
  return found == globals->end() ? nullptr : &found->second;
}

}  // namespace

bool IsBuiltinException(std::string_view name) {
  const Global* global = FindGlobal(name);
  return global != nullptr && global->kind == Global::Kind::kException;
}

namespace {

// The operator behind an infix operator, and the magic method of a class that overloads it.
struct InfixOperator {
  const char* name;
  const char* magic;
};

InfixOperator InfixOf(tree::BinaryOperator op) {
  switch (op) {
    case tree::BinaryOperator::kAdd:
      return {"add", "__add__"};
    case tree::BinaryOperator::kSubtract:
      return {"sub", "__sub__"};
    case tree::BinaryOperator::kMultiply:
      return {"mul", "__mul__"};
    case tree::BinaryOperator::kDivide:
      return {"div", "__truediv__"};
    case tree::BinaryOperator::kFloorDivide:
      return {"floordiv", "__floordiv__"};
    case tree::BinaryOperator::kModulo:
      return {"remainder", "__mod__"};
    case tree::BinaryOperator::kPower:
      return {"pow", "__pow__"};
    case tree::BinaryOperator::kMatrixMultiply:
      return {"matmul", "__matmul__"};
    case tree::BinaryOperator::kShiftLeft:
      return {"__lshift__", "__lshift__"};
    case tree::BinaryOperator::kShiftRight:
      return {"__rshift__", "__rshift__"};
    case tree::BinaryOperator::kBitAnd:
      return {"__and__", "__and__"};
    case tree::BinaryOperator::kBitOr:
      return {"__or__", "__or__"};
    case tree::BinaryOperator::kBitXor:
      return {"__xor__", "__xor__"};
  }
  return {"", ""};
}

InfixOperator ComparisonOf(tree::CompareOperator op) {
  switch (op) {
    case tree::CompareOperator::kEqual:
      return {"eq", "__eq__"};
    case tree::CompareOperator::kNotEqual:
      return {"ne", "__ne__"};
    case tree::CompareOperator::kLess:
      return {"lt", "__lt__"};
    case tree::CompareOperator::kLessEqual:
      return {"le", "__le__"};
    case tree::CompareOperator::kGreater:
      return {"gt", "__gt__"};
    case tree::CompareOperator::kGreaterEqual:
      return {"ge", "__ge__"};
    case tree::CompareOperator::kIs:
      return {"__is__", ""};
    case tree::CompareOperator::kIsNot:
      return {"__isnot__", ""};
    default:
      return {"__contains__", "__contains__"};
  }
}

}  // namespace

Value* Emitter::EmitExpr(const tree::Expr& expr, const TypePtr& hint) {
  return AsValue(EmitSugared(expr, hint), expr.range);
}

SugaredValue Emitter::EmitSugared(const tree::Expr& expr, const TypePtr& hint) {
  switch (expr.kind) {
    case Kind::kName:
      return EmitName(*cast<tree::Name>(&expr));
    case Kind::kIntConstant:
      if (hint && hint->kind() == c10::TypeKind::FloatType) {
        // Large whole floats are printed without a point.
        return FloatConstant(static_cast<double>(cast<tree::IntConstant>(&expr)->value));
      }
      return IntConstant(cast<tree::IntConstant>(&expr)->value);
    case Kind::kFloatConstant:
      return FloatConstant(cast<tree::FloatConstant>(&expr)->value);
    case Kind::kComplexConstant:
      return InsertPooled(c10::complex<double>(0, cast<tree::ComplexConstant>(&expr)->imaginary),
                          c10::ComplexType::get());
    case Kind::kStringConstant:
      return StringConstant(cast<tree::StringConstant>(&expr)->value);
    case Kind::kBoolConstant:
      return BoolConstant(cast<tree::BoolConstant>(&expr)->value);
    case Kind::kNoneConstant:
      return NoneConstant();
    case Kind::kAttribute:
      return EmitAttribute(*cast<tree::Attribute>(&expr));
    case Kind::kSubscript:
      return EmitSubscript(*cast<tree::Subscript>(&expr), hint);
    case Kind::kCall:
      return EmitCall(*cast<tree::Call>(&expr), hint);
    case Kind::kList:
      return EmitList(*cast<tree::List>(&expr), hint);
    case Kind::kTuple:
      return EmitTuple(*cast<tree::Tuple>(&expr), hint);
    case Kind::kDict:
      return EmitDict(*cast<tree::Dict>(&expr), hint);
    case Kind::kListComp:
      return EmitListComprehension(*cast<tree::ListComp>(&expr), hint);
    case Kind::kDictComp:
      return EmitDictComprehension(*cast<tree::DictComp>(&expr), hint);
    case Kind::kUnaryOp:
      return EmitUnary(*cast<tree::UnaryOp>(&expr));
    case Kind::kBinOp:
      return EmitBinary(*cast<tree::BinOp>(&expr));
    case Kind::kBoolOp:
      return EmitBool(*cast<tree::BoolOp>(&expr), 0);
    case Kind::kCompare:
      return EmitCompare(*cast<tree::Compare>(&expr));
    case Kind::kTernary: {
      const auto* choice = cast<tree::Ternary>(&expr);
      if (const std::optional<bool> decided = DecideCondition(*choice->condition)) {
        return EmitExpr(*decided ? *choice->if_true : *choice->if_false, hint);
      }
      const auto branch = [&](const tree::Expr& value, bool outcome) {
        Refine(*choice->condition, outcome);
        return EmitExpr(value, hint);
      };
      return EmitChoice(
          EmitCondition(*choice->condition), expr.range, [&] { return branch(*choice->if_true, true); },
          [&] { return branch(*choice->if_false, false); });
    }
    case Kind::kJoinedStr:
      return EmitFString(*cast<tree::JoinedStr>(&expr));
    default:
      Fail(expr.range, std::string(tree::KindName(expr.kind)) + " is not supported here");
  }
}

SugaredValue Emitter::EmitName(const tree::Name& name) {
  if (const Environment::Binding* binding = environment_.Find(name.id)) {
    if (binding->bound()) return binding->value;
    if (const char* why = std::get<Unbound>(binding->value).why) {
      Fail(name.range, "'" + std::string(name.id) + "' " + why);
    }
  }
  if (SugaredValue global = resolver_.ResolveGlobal(name.id); !std::holds_alternative<Unbound>(global)) {
    const auto* imported = std::get_if<NamespaceValue>(&global);
    const size_t dot = imported ? imported->name.rfind('.') : std::string_view::npos;
    if (dot != std::string_view::npos && imported->kind == NamespaceValue::Kind::kPython) {
      // from torch import float64
      const PythonMember member =
          resolver_.ResolveMember(imported->name.substr(0, dot), imported->name.substr(dot + 1));
      if (member.constant) return InsertConstant(*member.constant, member.constant->type());
    }
    return global;
  }
  if (const Global* global = FindGlobal(name.id)) {
    switch (global->kind) {
      case Global::Kind::kForm:
        return SpecialFormValue{global->form};
      case Global::Kind::kAten:
        return OperatorValue{resolver_.operators().Find("aten", name.id)};
      case Global::Kind::kPrim:
        return OperatorValue{resolver_.operators().Find("prim", name.id == "print" ? "Print" : name.id)};
      case Global::Kind::kNamespace:
        return NamespaceValue{global->space, name.id};
      case Global::Kind::kNumber:
        return FloatConstant(global->number);
      case Global::Kind::kException:
        return ExceptionValue{name.id};
    }
  }
  if (name.id == "infj" || name.id == "nanj") {
    const double part =
        name.id == "infj" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return InsertPooled(c10::complex<double>(0, part), c10::ComplexType::get());
  }
  Fail(name.range, "undefined name '" + std::string(name.id) + "'");
}

std::vector<Value*> Emitter::EmitElements(tree::ExprList elements, const TypePtr& element_hint) {
  std::vector<Value*> values;
  values.reserve(elements.size());
  for (const tree::Expr* element : elements) {
    if (const auto* starred = dyn_cast<tree::Starred>(element)) {
      Value* tuple = EmitExpr(*starred->value);
      if (tuple->type()->kind() != c10::TypeKind::TupleType) {
        Fail(element->range,
             "only a tuple can be expanded here, but this is of type " + tuple->type()->annotation_str());
      }
      const std::vector<Value*> expanded = UnpackTuple(tuple, element->range);
      values.insert(values.end(), expanded.begin(), expanded.end());
    } else {
      values.push_back(EmitExpr(*element, element_hint));
    }
  }
  return values;
}

TypePtr Emitter::ElementType(std::span<Value* const> elements, const TypePtr& hint, const char* what,
                             const SourceRange& range) {
  if (hint) {
    bool all_fit = true;
    for (Value* element : elements) all_fit &= IsSubtype(element->type(), hint);
    if (all_fit) return hint;
  }
  TypePtr type = elements.front()->type();
  for (Value* element : elements.subspan(1)) {
    if (element->type().get() == type.get()) continue;
    const auto unified = c10::unifyTypes(type, element->type(), /*default_to_union=*/true, hint);
    if (!unified) {
      Fail(range, std::string(what) + " must be of one type but there is " + type->annotation_str() + " and " +
                      element->type()->annotation_str());
    }
    type = *unified;
  }
  return type;
}

Value* Emitter::EmitList(const tree::List& list, const TypePtr& hint) {
  const c10::ListType* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::ListType>() : nullptr;
  TypePtr element_hint = wanted ? wanted->getElementType() : nullptr;
  if (hint && !wanted && hint->kind() == c10::TypeKind::UnionType) {
    for (const TypePtr& member : hint->containedTypes()) {
      if (const auto* one = member->castRaw<c10::ListType>()) element_hint = one->getElementType();
    }
  }
  const std::vector<Value*> elements = EmitElements(list.elements, element_hint);
  if (elements.empty()) {
    if (element_hint) {
      return InsertConstruct(sym::kListConstruct, {}, c10::ListType::create(element_hint), list.range);
    }
    Value* empty = InsertConstruct(sym::kListConstruct, {}, c10::ListType::ofTensors(), list.range);
    empty_lists_.push_back(empty);
    return empty;
  }
  const TypePtr type = ElementType(elements, element_hint, "a list's elements", list.range);
  TypePtr list_type;
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      list_type = c10::ListType::ofInts();
      break;
    case c10::TypeKind::TensorType:
      list_type = c10::ListType::ofTensors();
      break;
    case c10::TypeKind::FloatType:
      list_type = c10::ListType::ofFloats();
      break;
    default:
      list_type = c10::ListType::create(type);
  }
  return InsertConstruct(sym::kListConstruct, elements, std::move(list_type), list.range);
}

Value* Emitter::EmitTuple(const tree::Tuple& tuple, const TypePtr& hint) {
  const c10::TupleType* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::TupleType>() : nullptr;
  std::vector<Value*> elements;
  if (wanted && wanted->elements().size() == tuple.elements.size()) {
    for (size_t i = 0; i < tuple.elements.size(); ++i) {
      elements.push_back(EmitExpr(*tuple.elements[i], wanted->elements()[i]));
    }
  } else {
    elements = EmitElements(tuple.elements, nullptr);
  }
  std::vector<TypePtr> types;
  for (Value* element : elements) types.push_back(element->type());
  return InsertConstruct(sym::kTupleConstruct, elements, c10::TupleType::create(std::move(types)), tuple.range);
}

Value* Emitter::EmitDict(const tree::Dict& dict, const TypePtr& hint) {
  const c10::DictType* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::DictType>() : nullptr;
  std::vector<Value*> keys;
  std::vector<Value*> values;
  std::vector<Value*> inputs;
  for (const tree::DictItem& item : dict.items) {
    keys.push_back(EmitExpr(*item.key, wanted ? wanted->getKeyType() : nullptr));
    values.push_back(EmitExpr(*item.value, wanted ? wanted->getValueType() : nullptr));
    inputs.insert(inputs.end(), {keys.back(), values.back()});
  }
  if (keys.empty()) {
    TypePtr type = wanted ? c10::DictType::create(wanted->getKeyType(), wanted->getValueType())
                          : c10::DictType::create(c10::StringType::get(), c10::TensorType::get());
    return InsertConstruct(sym::kDictConstruct, {}, std::move(type), dict.range);
  }
  TypePtr key_type = ElementType(keys, wanted ? wanted->getKeyType() : nullptr, "a dict's keys", dict.range);
  TypePtr value_type = ElementType(values, wanted ? wanted->getValueType() : nullptr, "a dict's values", dict.range);
  return InsertConstruct(sym::kDictConstruct, inputs, c10::DictType::create(std::move(key_type), std::move(value_type)),
                         dict.range);
}

Value* Emitter::EmitUnary(const tree::UnaryOp& op) {
  if (op.op == tree::UnaryOperator::kNot) {
    return CallOperator("aten", "__not__", {EmitCondition(*op.operand)}, op.range);
  }
  Value* operand = EmitExpr(*op.operand);
  switch (op.op) {
    case tree::UnaryOperator::kNegate: {
      // -inf, and other constants, stay constants.
      if (operand->node()->kind() == sym::kConstant && operand->type()->kind() == c10::TypeKind::FloatType) {
        return FloatConstant(-operand->node()->attribute<c10::IValue>(sym::kValueAttr).toDouble());
      }
      if (Value* magic = TryMagicMethod("__neg__", {{operand}}, op.range)) return magic;
      return CallOperator("aten", "neg", {operand}, op.range);
    }
    case tree::UnaryOperator::kInvert:
      if (Value* magic = TryMagicMethod("__invert__", {{operand}}, op.range)) return magic;
      return CallOperator("aten", "bitwise_not", {operand}, op.range);
    default:
      return operand;
  }
}

Value* Emitter::EmitBinary(const tree::BinOp& op) {
  if (op.right->kind == Kind::kComplexConstant && op.left->kind == Kind::kFloatConstant) {
    // A complex literal, 1.+2.j.
    const double real = cast<tree::FloatConstant>(op.left)->value;
    const double imaginary = cast<tree::ComplexConstant>(op.right)->imaginary;
    if (op.op == tree::BinaryOperator::kAdd || op.op == tree::BinaryOperator::kSubtract) {
      const double sign = op.op == tree::BinaryOperator::kAdd ? 1 : -1;
      return InsertPooled(c10::complex<double>(real, sign * imaginary), c10::ComplexType::get());
    }
  }
  Value* left = EmitExpr(*op.left);
  Value* right = EmitExpr(*op.right);
  return EmitBinary(op.op, left, right, op.range);
}

Value* Emitter::EmitBinary(tree::BinaryOperator op, Value* left, Value* right, const SourceRange& range) {
  const InfixOperator infix = InfixOf(op);
  if (Value* magic = TryMagicMethod(infix.magic, {{left, right}}, range)) return magic;
  const bool are_tuples =
      left->type()->kind() == c10::TypeKind::TupleType && right->type()->kind() == c10::TypeKind::TupleType;
  if (are_tuples && op == tree::BinaryOperator::kAdd) {
    std::vector<Value*> elements = UnpackTuple(left, range);
    const std::vector<Value*> more = UnpackTuple(right, range);
    elements.insert(elements.end(), more.begin(), more.end());
    std::vector<TypePtr> types;
    for (Value* element : elements) types.push_back(element->type());
    return InsertConstruct(sym::kTupleConstruct, elements, c10::TupleType::create(std::move(types)), range);
  }
  if (left->type()->kind() == c10::TypeKind::StringType && op == tree::BinaryOperator::kModulo) {
    return CallOperator("aten", "percentFormat", {left, right}, range);  // a tuple on the right is unpacked by it
  }
  return CallOperator("aten", infix.name, {left, right}, range);
}

Value* Emitter::EmitBool(const tree::BoolOp& op, size_t first) {
  const tree::Expr& operand = *op.values[first];
  Value* value = EmitCondition(operand);
  if (first + 1 == op.values.size()) return value;
  const auto rest = [&] {
    Refine(operand, op.op == tree::BoolOperator::kAnd);
    return EmitBool(op, first + 1);
  };
  const auto decided = [&] { return BoolConstant(op.op == tree::BoolOperator::kOr); };
  if (op.op == tree::BoolOperator::kAnd) return EmitChoice(value, op.range, rest, decided);
  return EmitChoice(value, op.range, decided, rest);
}

Value* Emitter::EmitCompare(const tree::Compare& compare) {
  Value* left = EmitExpr(*compare.left);
  const std::function<Value*(size_t, Value*)> from = [&](size_t i, Value* operand) -> Value* {
    const tree::Comparison& comparison = compare.comparisons[i];
    Value* right = EmitExpr(*comparison.right);
    Value* result = EmitComparison(comparison.op, operand, right, compare.range);
    if (i + 1 == compare.comparisons.size()) return result;
    // As torch.jit.script has it, a < b < c is a < b and b < c: what stands between is evaluated for each comparison.
    return EmitChoice(
        ToBool(result, compare.range), compare.range, [&] { return from(i + 1, EmitExpr(*comparison.right)); },
        [&] { return BoolConstant(false); });
  };
  return from(0, left);
}

Value* Emitter::EmitComparison(tree::CompareOperator op, Value* left, Value* right, const SourceRange& range) {
  const InfixOperator infix = ComparisonOf(op);
  if (op == tree::CompareOperator::kIn || op == tree::CompareOperator::kNotIn) {
    Value* found = TryMagicMethod(infix.magic, {{right, left}}, range);
    if (!found) found = CallOperator("aten", infix.name, {right, left}, range);
    return op == tree::CompareOperator::kIn ? found : CallOperator("aten", "__not__", {found}, range);
  }
  if (*infix.magic == '\0') {
    // To an infix `is`, nothing but an Optional may be None.
    const bool with_none =
        left->type()->kind() == c10::TypeKind::NoneType || right->type()->kind() == c10::TypeKind::NoneType;
    const bool with_any =
        left->type()->kind() == c10::TypeKind::AnyType || right->type()->kind() == c10::TypeKind::AnyType;
    if (with_none && with_any) return BoolConstant(op == tree::CompareOperator::kIsNot);
  } else {
    if (Value* magic = TryMagicMethod(infix.magic, {{left, right}}, range)) return magic;
  }
  return CallOperator("aten", infix.name, {left, right}, range);
}

Value* Emitter::EmitFString(const tree::JoinedStr& string) {
  std::string format;
  std::vector<Value*> arguments{nullptr};
  for (const tree::Expr* part : string.parts) {
    if (const auto* text = dyn_cast<tree::StringConstant>(part)) {
      format += text->value;
      continue;
    }
    const auto* value = cast<tree::FormattedValue>(part);
    if (value->format_spec || (value->conversion != '\0' && value->conversion != 's')) {
      Fail(part->range, "an f-string's format specifications and conversions are not supported");
    }
    format += "{}";
    arguments.push_back(EmitExpr(*value->value));
  }
  arguments.front() = StringConstant(format);
  const OperatorSet* set = resolver_.operators().Find("aten", "format");
  return AsValue(CallOperator(*set, {arguments, {}}, string.range), string.range);
}

}  // namespace hearth
