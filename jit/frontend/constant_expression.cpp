#include "jit/frontend/constant_expression.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/Device.h>
#include <c10/util/complex.h>

#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "jit/frontend/conversions.h"

namespace hearth {
namespace {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

class Evaluator {
 public:
  explicit Evaluator(Resolver& resolver) : resolver_(resolver) {}

  c10::IValue Evaluate(const tree::Expr& expr, const TypePtr& wanted) {
    const TypePtr type = wanted ? UnwrapOptional(wanted) : nullptr;
    switch (expr.kind) {
      case Kind::kIntConstant: {
        const int64_t value = cast<tree::IntConstant>(&expr)->value;
        // Large whole floats are printed without a point.
        if (type && type->kind() == c10::TypeKind::FloatType) return static_cast<double>(value);
        return value;
      }
      case Kind::kFloatConstant:
        return cast<tree::FloatConstant>(&expr)->value;
      case Kind::kComplexConstant:
        return c10::complex<double>(0, cast<tree::ComplexConstant>(&expr)->imaginary);
      case Kind::kStringConstant:
        return std::string(cast<tree::StringConstant>(&expr)->value);
      case Kind::kBoolConstant:
        return cast<tree::BoolConstant>(&expr)->value;
      case Kind::kNoneConstant:
        return c10::IValue();
      case Kind::kName:
        return EvaluateName(*cast<tree::Name>(&expr));
      case Kind::kUnaryOp:
        return EvaluateUnary(*cast<tree::UnaryOp>(&expr), type);
      case Kind::kBinOp:
        return EvaluateComplex(*cast<tree::BinOp>(&expr));
      case Kind::kList:
        return EvaluateList(cast<tree::List>(&expr)->elements, type);
      case Kind::kTuple:
        return EvaluateTuple(cast<tree::Tuple>(&expr)->elements, type);
      case Kind::kDict:
        return EvaluateDict(*cast<tree::Dict>(&expr), type);
      case Kind::kCall:
        return EvaluateCall(*cast<tree::Call>(&expr));
      case Kind::kAttribute:
        return EvaluateAttribute(*cast<tree::Attribute>(&expr));
      default:
        Fail(expr.range, "expected a constant");
    }
  }

 private:
  c10::IValue EvaluateName(const tree::Name& name) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (name.id == "inf") return kInfinity;
    if (name.id == "nan") return kNan;
    if (name.id == "infj") return c10::complex<double>(0, kInfinity);
    if (name.id == "nanj") return c10::complex<double>(0, kNan);
    Fail(name.range, "expected a constant");
  }

  c10::IValue EvaluateUnary(const tree::UnaryOp& op, const TypePtr& type) {
    c10::IValue value = Evaluate(*op.operand, type);
    if (op.op == tree::UnaryOperator::kNegate) {
      if (value.isInt()) return static_cast<int64_t>(-static_cast<uint64_t>(value.toInt()));
      if (value.isDouble()) return -value.toDouble();
      if (value.isComplexDouble()) return -value.toComplexDouble();
    }
    if (op.op == tree::UnaryOperator::kPlus && (value.isInt() || value.isDouble())) return value;
    if (op.op == tree::UnaryOperator::kNot && value.isBool()) return !value.toBool();
    Fail(op.range, "expected a constant");
  }

  // 1.+2.j
  c10::IValue EvaluateComplex(const tree::BinOp& op) {
    const bool adds = op.op == tree::BinaryOperator::kAdd;
    if (!adds && op.op != tree::BinaryOperator::kSubtract) Fail(op.range, "expected a constant");
    const auto part = [&](const tree::Expr& expr) -> c10::complex<double> {
      const c10::IValue value = Evaluate(expr, nullptr);
      if (value.isComplexDouble()) return value.toComplexDouble();
      if (value.isDouble()) return {value.toDouble(), 0};
      if (value.isInt()) return {static_cast<double>(value.toInt()), 0};
      Fail(expr.range, "expected a number");
    };
    const c10::complex<double> left = part(*op.left);
    const c10::complex<double> right = part(*op.right);
    return adds ? left + right : left - right;
  }

  c10::IValue EvaluateList(tree::ExprList elements, const TypePtr& type) {
    const auto* list_type = type ? type->castRaw<c10::ListType>() : nullptr;
    std::vector<c10::IValue> values;
    for (const tree::Expr* element : elements) {
      values.push_back(Evaluate(*element, list_type ? list_type->getElementType() : nullptr));
    }
    TypePtr element_type = list_type        ? list_type->getElementType()
                           : values.empty() ? TypePtr(c10::TensorType::get())
                                            : values.front().type();
    c10::impl::GenericList list(std::move(element_type));
    list.reserve(values.size());
    for (c10::IValue& value : values) list.push_back(std::move(value));
    return list;
  }

  c10::IValue EvaluateTuple(tree::ExprList elements, const TypePtr& type) {
    // A tuple may stand for a list of one type.
    if (type && type->kind() == c10::TypeKind::ListType) return EvaluateList(elements, type);
    const auto* tuple_type = type ? type->castRaw<c10::TupleType>() : nullptr;
    const bool fits = tuple_type && tuple_type->elements().size() == elements.size();
    std::vector<c10::IValue> values;
    for (size_t i = 0; i < elements.size(); ++i) {
      values.push_back(Evaluate(*elements[i], fits ? tuple_type->elements()[i] : nullptr));
    }
    if (fits && tuple_type->schema()) {
      return c10::ivalue::Tuple::createNamed(std::move(values), type->expect<c10::TupleType>());
    }
    return c10::ivalue::Tuple::create(std::move(values));
  }

  c10::IValue EvaluateDict(const tree::Dict& dict, const TypePtr& type) {
    const auto* wanted = type ? type->castRaw<c10::DictType>() : nullptr;
    TypePtr key_type = wanted ? wanted->getKeyType() : nullptr;
    TypePtr value_type = wanted ? wanted->getValueType() : nullptr;
    std::vector<std::pair<c10::IValue, c10::IValue>> items;
    for (const tree::DictItem& item : dict.items) {
      items.emplace_back(Evaluate(*item.key, key_type), Evaluate(*item.value, value_type));
    }
    if (!key_type) key_type = items.empty() ? TypePtr(c10::StringType::get()) : items.front().first.type();
    if (!value_type) value_type = items.empty() ? TypePtr(c10::TensorType::get()) : items.front().second.type();
    c10::impl::GenericDict made(std::move(key_type), std::move(value_type));
    for (auto& [key, value] : items) made.insert_or_assign(key, value);
    return made;
  }

  // torch.device("cpu"), annotate(List[int], [])
  c10::IValue EvaluateCall(const tree::Call& call) {
    const std::string_view callee = call.callee->range.text();
    if (callee == "torch.device" && call.args.size() == 1 && call.keywords.empty()) {
      const auto* text = dyn_cast<tree::StringConstant>(call.args[0]);
      if (!text) Fail(call.range, "expected a device's name");
      try {
        return c10::Device(std::string(text->value));
      } catch (const c10::Error& error) {
        Fail(call.range, error.what_without_backtrace());
      }
    }
    if (callee == "float" && call.args.size() == 1 && call.keywords.empty()) {
      const auto* text = dyn_cast<tree::StringConstant>(call.args[0]);
      if (text && text->value == "inf") return std::numeric_limits<double>::infinity();
      if (text && text->value == "-inf") return -std::numeric_limits<double>::infinity();
      if (text && text->value == "nan") return std::numeric_limits<double>::quiet_NaN();
    }
    if ((callee == "annotate" || callee == "torch.jit.annotate") && call.args.size() == 2) {
      return Evaluate(*call.args[1], resolver_.ResolveType(*call.args[0]));
    }
    Fail(call.range, "expected a constant");
  }

  // An enum's member, or one of the archive's constants.
  c10::IValue EvaluateAttribute(const tree::Attribute& attribute) {
    if (attribute.value->range.text() == "CONSTANTS" && attribute.attr.starts_with('c')) {
      size_t index = 0;
      const char* const end = attribute.attr.data() + attribute.attr.size();
      const auto parsed = std::from_chars(attribute.attr.data() + 1, end, index);
      if (parsed.ec == std::errc() && parsed.ptr == end && index < resolver_.constants().size()) {
        return resolver_.constants()[index];
      }
      Fail(attribute.range, "the archive has no such constant");
    }
    const PythonMember module = FindModule(*attribute.value);
    if (const auto* space = std::get_if<NamespaceValue>(&module.value);
        space && space->kind == NamespaceValue::Kind::kPython) {
      PythonMember member = resolver_.ResolveMember(space->name, attribute.attr);
      if (member.constant) return *std::move(member.constant);
    }
    const SugaredValue owner = resolver_.ResolveQualified(attribute.value->range.text());
    if (const auto* type = std::get_if<TypeValue>(&owner)) {
      if (const auto enum_type = std::dynamic_pointer_cast<c10::EnumType>(type->type)) {
        for (const c10::EnumNameValue& entry : enum_type->enumNamesValues()) {
          if (entry.first != attribute.attr) continue;
          return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enum_type, entry.first, entry.second));
        }
      }
    }
    Fail(attribute.range, "expected a constant");
  }

  // What a dotted name of Python's means, or Unbound.
  PythonMember FindModule(const tree::Expr& expr) {
    if (const auto* name = dyn_cast<tree::Name>(&expr)) return {resolver_.ResolveGlobal(name->id), {}};
    const auto* attribute = dyn_cast<tree::Attribute>(&expr);
    if (!attribute) return {};
    const PythonMember owner = FindModule(*attribute->value);
    const auto* space = std::get_if<NamespaceValue>(&owner.value);
    if (!space || space->kind != NamespaceValue::Kind::kPython) return {};
    return resolver_.ResolveMember(space->name, attribute->attr);
  }

  Resolver& resolver_;
};

}  // namespace

c10::IValue EvaluateConstant(const tree::Expr& expr, const TypePtr& type, Resolver& resolver) {
  return Evaluator(resolver).Evaluate(expr, type);
}

}  // namespace hearth
