// What stands after a dot.
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

namespace {

// A builtin type's attribute: the namespace of the operator of that name, or null.
const char* FindBuiltinAttribute(c10::TypeKind kind, std::string_view name) {
  static const auto* const tensor = new std::unordered_map<std::string_view, const char*>{
      {"dtype", "prim"},
      {"device", "prim"},
      {"grad", "prim"},
      {"data", "prim"},
      {"shape", "prim"},
      {"is_cuda", "prim"},
      {"is_cpu", "prim"},
      {"is_xla", "prim"},
      {"is_xpu", "prim"},
      {"is_mtia", "prim"},
      {"is_sparse", "prim"},
      {"is_sparse_csr", "prim"},
      {"is_mkldnn", "prim"},
      {"is_mps", "prim"},
      {"is_quantized", "prim"},
      {"is_vulkan", "prim"},
      {"is_ipu", "prim"},
      {"is_meta", "prim"},
      {"is_maia", "prim"},
      {"is_nested", "prim"},
      {"is_leaf", "aten"},
      {"requires_grad", "prim"},
      {"layout", "prim"},
      {"T", "prim"},
      {"H", "prim"},
      {"mT", "prim"},
      {"mH", "prim"},
      {"itemsize", "prim"},
      {"nbytes", "prim"},
      {"ndim", "prim"},
      {"name", "prim"},
      {"real", "aten"},
      {"imag", "aten"},
      {"retains_grad", "aten"},
  };
  if (kind == c10::TypeKind::TensorType) {
    const auto found = tensor->find(name);
    return found == tensor->end() ? nullptr : found->second;
  }
  if (kind == c10::TypeKind::DeviceObjType && (name == "type" || name == "index")) return "prim";
  return nullptr;
}

// The dtype that a tensor's method of that name casts to. torch.jit has all but `bool` and `bfloat16`, which Python's
// tensors have too.
std::optional<c10::ScalarType> FindTensorCast(std::string_view name) {
  static const auto* const casts = new std::unordered_map<std::string_view, c10::ScalarType>{
      {"byte", c10::ScalarType::Byte},           {"char", c10::ScalarType::Char},
      {"short", c10::ScalarType::Short},         {"int", c10::ScalarType::Int},
      {"long", c10::ScalarType::Long},           {"half", c10::ScalarType::Half},
      {"float", c10::ScalarType::Float},         {"double", c10::ScalarType::Double},
      {"cfloat", c10::ScalarType::ComplexFloat}, {"cdouble", c10::ScalarType::ComplexDouble},
      {"bool", c10::ScalarType::Bool},           {"bfloat16", c10::ScalarType::BFloat16},
  };
  const auto found = casts->find(name);
  if (found == casts->end()) return std::nullopt;
  return found->second;
}

}  // namespace

SugaredValue Emitter::EmitAttribute(const tree::Attribute& attribute) {
  // A qualified name of the archive is looked up as a whole, by its text.
  const tree::Expr* root = attribute.value;
  while (const auto* outer = dyn_cast<tree::Attribute>(root)) root = outer->value;
  if (const auto* name = dyn_cast<tree::Name>(root); name && name->id == "__torch__") {
    const std::string_view qualified = attribute.range.text();
    SugaredValue found = resolver_.ResolveQualified(qualified);
    if (!std::holds_alternative<Unbound>(found)) return found;
    // A prefix, or a member of something: an enum's value, a class's __new__.
    if (attribute.value->kind == Kind::kAttribute) {
      SugaredValue owner = EmitAttribute(*cast<tree::Attribute>(attribute.value));
      if (!std::holds_alternative<NamespaceValue>(owner)) {
        return GetAttribute(owner, attribute.attr, attribute.range);
      }
    }
    return NamespaceValue{NamespaceValue::Kind::kArchive, qualified};
  }
  return GetAttribute(EmitSugared(*attribute.value), attribute.attr, attribute.range);
}

SugaredValue Emitter::GetAttribute(const SugaredValue& base, std::string_view name, const SourceRange& range) {
  if (Value* const* value = std::get_if<Value*>(&base)) return GetValueAttribute(*value, name, range);
  if (const auto* space = std::get_if<NamespaceValue>(&base)) {
    switch (space->kind) {
      case NamespaceValue::Kind::kTorch: {
        if (name == "autograd") return *space;
        const OperatorSet* set = resolver_.operators().Find("aten", name);
        // An archive never spells a dtype out; people do.
        if (!set->known()) {
          if (const auto constant = FindTorchNumber(name)) return IntConstant(*constant);
        }
        return OperatorValue{set};
      }
      case NamespaceValue::Kind::kOperators:
        return NamespaceValue{NamespaceValue::Kind::kOperatorSpace, name};
      case NamespaceValue::Kind::kOperatorSpace:
        return OperatorValue{resolver_.operators().Find(space->name, name)};
      case NamespaceValue::Kind::kConstants: {
        const std::vector<c10::IValue>& constants = resolver_.constants();
        size_t index = 0;
        const char* const end = name.data() + name.size();
        const auto parsed = std::from_chars(name.data() + (name.empty() ? 0 : 1), end, index);
        if (!name.starts_with('c') || parsed.ec != std::errc() || parsed.ptr != end) {
          Fail(range, "the archive's constants are named c0, c1, ...");
        }
        if (index >= constants.size()) {
          Fail(range, "the archive has " + std::to_string(constants.size()) + " constants but the code asks for " +
                          std::string(name));
        }
        const c10::IValue& constant = constants[index];
        const auto [found, is_new] = pools_.back().by_identity.try_emplace(&constant, nullptr);
        if (is_new) {
          TypePtr type = constant.isTensor() ? TypePtr(c10::TensorType::get()) : constant.type();
          found->second = InsertPooled(constant, std::move(type));
        }
        return found->second;
      }
      case NamespaceValue::Kind::kPython: {
        PythonMember member = resolver_.ResolveMember(space->name, name);
        if (member.constant) return InsertConstant(*member.constant, member.constant->type());
        if (const auto* unbound = std::get_if<Unbound>(&member.value)) {
          Fail(range, std::string(range.text()) + " " + (unbound->why ? unbound->why : "is not known here"));
        }
        return std::move(member.value);
      }
      case NamespaceValue::Kind::kArchive:
        Fail(range, "the archive's code does not define '" + std::string(range.text()) + "'");
    }
  }
  if (const auto* type = std::get_if<TypeValue>(&base)) return GetTypeAttribute(type->type, name, range);
  if (std::holds_alternative<ResultsValue>(base)) return GetValueAttribute(AsValue(base, range), name, range);
  Fail(range, std::string(Describe(base)) + " has no attribute '" + std::string(name) + "'");
}

SugaredValue Emitter::GetTypeAttribute(const c10::NamedTypePtr& type, std::string_view name, const SourceRange& range) {
  if (const auto class_type = std::dynamic_pointer_cast<c10::ClassType>(type)) {
    if (name == "__new__") return NewValue{class_type};
    if (const auto constant = class_type->findConstant(std::string(name))) {
      return InsertConstant(*constant, constant->type());
    }
    if (torch::jit::Function* method = class_type->findStaticMethod(std::string(name))) {
      if (auto* function = dynamic_cast<Function*>(method)) return FunctionValue{function};
    }
  } else if (const auto enum_type = std::dynamic_pointer_cast<c10::EnumType>(type)) {
    for (const c10::EnumNameValue& entry : enum_type->enumNamesValues()) {
      if (entry.first != name) continue;
      return InsertPooled(
          c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enum_type, entry.first, entry.second)), enum_type);
    }
  }
  Fail(range, "type " + type->annotation_str() + " has no member '" + std::string(name) + "'");
}

SugaredValue Emitter::GetValueAttribute(Value* value, std::string_view name, const SourceRange& range) {
  if (auto found = FindValueAttribute(value, name, range)) return std::move(*found);
  Fail(range, "a value of type " + value->type()->annotation_str() + " has no attribute or method '" +
                  std::string(name) + "'");
}

std::optional<SugaredValue> Emitter::FindValueAttribute(Value* value, std::string_view name, const SourceRange& range) {
  const TypePtr& type = value->type();
  switch (type->kind()) {
    case c10::TypeKind::ClassType: {
      auto& class_type = type->expectRef<c10::ClassType>();
      const std::string text(name);
      if (torch::jit::Function* method = FindMethod(class_type, text)) {
        return MethodValue{value, &method->getSchema(), method};
      }
      if (const auto slot = class_type.findAttributeSlot(text)) {
        Value* read = Insert(sym::kGetAttr, {value}, class_type.getAttribute(*slot), range);
        read->node()->SetAttribute(sym::kNameAttr, text);
        return read;
      }
      if (const auto constant = class_type.findConstant(text)) return InsertConstant(*constant, constant->type());
      if (torch::jit::Function* method = class_type.findStaticMethod(text)) {
        if (auto* function = dynamic_cast<Function*>(method)) return FunctionValue{function};
      }
      if (const auto property = class_type.getProperty(text)) {
        return CallMethod(property->getter->getSchema(), property->getter, {{{value}}, {}}, range);
      }
      return std::nullopt;
    }
    case c10::TypeKind::InterfaceType:
      if (const auto* schema = type->expectRef<c10::InterfaceType>().getMethod(std::string(name))) {
        return MethodValue{value, schema, nullptr};
      }
      return std::nullopt;
    case c10::TypeKind::TupleType: {
      const auto& tuple = type->expectRef<c10::TupleType>();
      if (!tuple.schema()) return std::nullopt;
      const auto& fields = tuple.schema()->arguments();
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name() != name) continue;
        return Insert(sym::kTupleIndex, {value, IntConstant(static_cast<int64_t>(i))}, tuple.elements()[i], range);
      }
      return std::nullopt;
    }
    case c10::TypeKind::EnumType:
      if (name == "name") return CallOperator("prim", "EnumName", {value}, range);
      if (name == "value") return EnumValue(value, range);
      return std::nullopt;
    default:
      break;
  }
  if (const char* space = FindBuiltinAttribute(type->kind(), name)) return CallOperator(space, name, {value}, range);
  if (type->kind() == c10::TypeKind::TensorType) {
    if (name == "tolist") return SpecialFormValue{SpecialForm::kToList, value};
    if (const auto dtype = FindTensorCast(name)) return TensorCastValue{value, *dtype};
  }
  const OperatorSet* set = resolver_.operators().Find("aten", name == "type" ? "to" : name);
  if (set->has_self) return OperatorValue{set, value};
  return std::nullopt;
}

// The operator's overloads differ in what they give alone.
Value* Emitter::EnumValue(Value* value, const SourceRange& range) {
  const TypePtr type = value->type()->expectRef<c10::EnumType>().getValueType();
  Value* read = CallOperator("prim", "EnumValue", {value}, range);
  for (const Candidate& candidate : resolver_.operators().Find("prim", "EnumValue")->candidates) {
    if (*candidate.schema->returns()[0].type() == *type) read->node()->SetOperator(candidate.op);
  }
  read->SetType(type);
  return read;
}

void Emitter::AddAttribute(const std::string& name, const TypePtr& type, const SourceRange& range) {
  if (graph_.insertion_point()->block() != graph_.block()) {
    Fail(range, "an attribute that is not declared must first be assigned in the body of __init__ itself, in no block");
  }
  initialized_->addAttribute(name, type);
}

void Emitter::SetAttribute(Value* object, std::string_view name, Value* value, const SourceRange& range,
                           const TypePtr& declared) {
  const auto* type = object->type()->castRaw<c10::ClassType>();
  if (!type) Fail(range, "attributes of a value of type " + object->type()->annotation_str() + " cannot be set");
  const std::string text(name);
  if (type == initialized_.get() && !type->hasAttribute(text) && !initialized_->getProperty(text)) {
    AddAttribute(text, declared ? declared : value->type(), range);
  }
  const auto slot = type->findAttributeSlot(text);
  if (!slot) {
    const auto& properties = type->properties();
    for (const c10::ClassType::Property& property : properties) {
      if (property.name != name) continue;
      if (!property.setter) Fail(range, "property '" + text + "' cannot be set");
      Value* const arguments[] = {object, value};
      CallMethod(property.setter->getSchema(), property.setter, {arguments, {}}, range);
      return;
    }
    Fail(range, "class " + type->annotation_str() + " has no attribute '" + text + "'");
  }
  Value* converted =
      ConvertTo(value, type->getAttribute(*slot), range, ("the value of attribute '" + text + "'").c_str());
  Node* node = InsertNode(sym::kSetAttr, {{object, converted}}, 0, range);
  node->SetAttribute(sym::kNameAttr, text);
}

}  // namespace hearth
