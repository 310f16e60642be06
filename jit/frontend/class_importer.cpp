#include "jit/frontend/class_importer.h"

#include <torch/custom_class.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/frontend/archive_resolver.h"
#include "jit/frontend/constant_expression.h"
#include "jit/frontend/errors.h"
#include "jit/frontend/tree_walk.h"
#include "jit/ir/type_size.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

constexpr size_t kMostMembers = 20000;

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

// The strings of `__parameters__ = ["w", ]`.
std::vector<std::string_view> StringList(const tree::Expr& expr) {
  const auto* list = dyn_cast<tree::List>(&expr);
  if (!list) Fail(expr.range, "expected a list of names");
  std::vector<std::string_view> strings;
  for (const tree::Expr* element : list->elements) {
    const auto* string = dyn_cast<tree::StringConstant>(element);
    if (!string) Fail(element->range, "expected a name in quotes");
    strings.push_back(string->value);
  }
  return strings;
}

bool Contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsFinal(const tree::Expr& annotation) {
  const auto* subscript = dyn_cast<tree::Subscript>(&annotation);
  const auto* name = subscript ? dyn_cast<tree::Name>(subscript->value) : dyn_cast<tree::Name>(&annotation);
  return name && name->id == "Final";
}

// A qualified name without the components that torch.jit adds where two classes have one name.
std::string Demangled(std::string_view name) {
  constexpr std::string_view kMangle = "___torch_mangle_";
  std::string out;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(part.size() + 1, name.size()));
    if (part.starts_with(kMangle)) continue;
    if (!out.empty()) out += '.';
    out += part;
  }
  return out;
}

// The C++ class of what a quantized module packs; null for any other class.
const char* PackedClass(std::string_view demangled) {
  constexpr std::string_view kFolders[] = {"__torch__.torch.nn.quantized.modules.",
                                           "__torch__.torch.ao.nn.quantized.modules."};
  for (const std::string_view folder : kFolders) {
    if (!demangled.starts_with(folder)) continue;
    const std::string_view name = demangled.substr(folder.size());
    if (name == "linear.Linear" || name == "linear.LinearPackedParams") {
      return "__torch__.torch.classes.quantized.LinearPackedParamsBase";
    }
    if (name == "conv.Conv2d") return "__torch__.torch.classes.quantized.Conv2dPackedParamsBase";
    if (name == "conv.Conv3d") return "__torch__.torch.classes.quantized.Conv3dPackedParamsBase";
  }
  return nullptr;
}

class ClassImporter {
 public:
  ClassImporter(ArchiveResolver& resolver, const std::string& name, const tree::ClassDef& definition)
      : resolver_(resolver), name_(name), definition_(definition) {}

  c10::NamedTypePtr Import() {
    const LoadBudget::Activity declaring("declaring ", name_);
    std::string_view base;
    if (definition_.bases.size() > 1) Fail(definition_.name_range, "a class can have one base only");
    if (!definition_.bases.empty()) {
      const tree::Expr& expr = *definition_.bases.front();
      base = expr.range.text();
      if (const size_t dot = base.rfind('.'); dot != std::string_view::npos) base.remove_prefix(dot + 1);
    }
    if (base == "NamedTuple") return ImportNamedTuple();
    if (base == "Enum") return ImportEnum();
    if (base == "Interface") return ImportInterface(false);
    if (base == "ModuleInterface") return ImportInterface(true);
    if (resolver_.written()) {
      if (HasDecorator(definition_, "interface")) return ImportInterface(base == "Module");
      if (base == "Module" || base == "ScriptModule") {
        Fail(definition_.bases.front()->range,
             "running Python makes a module's attributes: save it with torch.jit.save and run the archive");
      }
    }
    if (base == "Module") return ImportClassType(true);
    if (base.empty() || base == "object") return ImportClassType(false);
    Fail(definition_.bases.front()->range,
         "a class can only be a Module, a NamedTuple, an Enum, an Interface or a ModuleInterface");
  }

 private:
  struct Attribute {
    std::string_view name;
    const tree::Expr* annotation;
  };

  c10::NamedTypePtr ImportClassType(bool is_module) {
    ReadBody();
    const c10::ClassTypePtr type =
        c10::ClassType::create(c10::QualifiedName(name_), resolver_.unit().opaque(), is_module);
    // Known before its parts are read, which may name it.
    resolver_.unit().AddType(type);
    CheckNames();
    for (const Attribute& attribute : attributes_) {
      LoadBudget::Check();
      type->addAttribute(std::string(attribute.name), TypeOf(attribute),
                         is_module && Contains(parameters_, attribute.name),
                         is_module && Contains(buffers_, attribute.name));
    }
    for (const tree::AnnAssign* constant : constants_) {
      // Final alone leaves the type to the value.
      TypePtr wanted =
          constant->annotation->kind == Kind::kSubscript ? resolver_.ResolveType(*constant->annotation) : nullptr;
      type->addConstant(std::string(cast<tree::Name>(constant->target)->id),
                        EvaluateConstant(*constant->value, wanted, resolver_));
    }
    for (const tree::FunctionDef* method : methods_) {
      LoadBudget::Check();
      const std::string name = name_ + "." + MethodName(*method);
      if (HasDecorator(*method, "staticmethod")) {
        type->addStaticMethod(resolver_.unit().AddFunction(resolver_.DeclareFunction(name, *method)));
        continue;
      }
      if (Contains(pre_hooks_, method->name) || Contains(hooks_, method->name)) {
        hook_functions_.emplace_back(method->name,
                                     resolver_.unit().AddAnonymous(resolver_.DeclareHook(name, *method, type)));
      } else {
        resolver_.unit().AddMethod(type, resolver_.DeclareMethod(name, *method, type));
      }
    }
    for (const std::string_view hook : pre_hooks_) type->addForwardPreHook(FindHook(hook));
    for (const std::string_view hook : hooks_) type->addForwardHook(FindHook(hook));
    AddProperties(*type);
    if (resolver_.written()) {
      // Its assignments make attributes, which must be known before anything else is compiled.
      if (torch::jit::Function* init = FindMethod(*type, "__init__")) init->ensure_defined();
    }
    return type;
  }

  // Before 1.5 packed weights of quantized modules were tensors of a kind that is gone; their code works as well with
  // the C++ class that holds them now.
  TypePtr TypeOf(const Attribute& attribute) const {
    if (attribute.name == "_packed_params" && attribute.annotation->range.text() == "Tensor") {
      if (const char* packed = PackedClass(Demangled(name_))) {
        const c10::ClassTypePtr type = torch::getCustomClass(packed);
        if (!type) Fail(attribute.annotation->range, std::string("this build lacks the class ") + packed);
        return type;
      }
    }
    return resolver_.ResolveType(*attribute.annotation);
  }

  // LibTorch would refuse a name that is taken, without saying where.
  void CheckNames() const {
    std::unordered_set<std::string> names;
    const auto add = [&](std::string_view name, const SourceRange& range) {
      if (!names.emplace(name).second) Fail(range, "'" + std::string(name) + "' is defined twice in this class");
    };
    for (const Attribute& attribute : attributes_) add(attribute.name, attribute.annotation->range);
    for (const tree::AnnAssign* constant : constants_) add(cast<tree::Name>(constant->target)->id, constant->range);
    for (const tree::FunctionDef* method : methods_) add(MethodName(*method), method->name_range);
  }

  // The name that the printer gives the method: a property's are printed like others.
  static std::string_view PropertyName(const tree::FunctionDef& method) {
    for (const tree::Expr* decorator : method.decorators) {
      const std::string_view text = decorator->range.text();
      if (text == "property" || text.ends_with(".getter")) return "_getter";
      if (text.ends_with(".setter")) return "_setter";
    }
    return {};
  }

  static std::string MethodName(const tree::FunctionDef& method) {
    const std::string name(method.name);
    const std::string_view accessor = PropertyName(method);
    return accessor.empty() ? name : "__" + name + std::string(accessor);
  }

  Function* FindHook(std::string_view name) const {
    for (const auto& [known, function] : hook_functions_) {
      if (known == name) return function;
    }
    Fail(definition_.name_range, "hook '" + std::string(name) + "' is not defined");
  }

  // A property `p` is printed as its methods, __p_getter and __p_setter.
  void AddProperties(c10::ClassType& type) {
    constexpr std::string_view kPrefix = "__";
    constexpr std::string_view kGetter = "_getter";
    const std::vector<torch::jit::Function*> methods = type.methods();
    for (torch::jit::Function* getter : methods) {
      const std::string& name = getter->name();
      if (name.size() <= kPrefix.size() + kGetter.size() || !name.starts_with(kPrefix) || !name.ends_with(kGetter)) {
        continue;
      }
      const std::string property = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kGetter.size());
      if (type.hasAttribute(property) || FindMethod(type, property) || type.hasConstant(property)) continue;
      type.addProperty(property, getter, FindMethod(type, "__" + property + "_setter"));
    }
  }

  void ReadBody() {
    for (const tree::Stmt* statement : definition_.body) {
      switch (statement->kind) {
        case Kind::kAssign:
          ReadAssign(*cast<tree::Assign>(statement));
          break;
        case Kind::kAnnAssign: {
          const auto* assign = cast<tree::AnnAssign>(statement);
          const auto* name = dyn_cast<tree::Name>(assign->target);
          if (!name) Fail(assign->range, "expected an attribute's name");
          if (IsFinal(*assign->annotation)) {
            if (!assign->value) Fail(assign->range, "a Final attribute needs a value");
            constants_.push_back(assign);
          } else {
            attributes_.push_back({name->id, assign->annotation});
          }
          break;
        }
        case Kind::kFunctionDef:
          if (!IsLeftToPython(*cast<tree::FunctionDef>(statement))) {
            methods_.push_back(cast<tree::FunctionDef>(statement));
          }
          break;
        case Kind::kPass:
          break;
        case Kind::kExprStmt:
          if (cast<tree::ExprStmt>(statement)->value->kind == Kind::kStringConstant) break;
          [[fallthrough]];
        default:
          Fail(statement->range, "a class's body can only have attributes, constants and methods");
      }
    }
    // LibTorch's class types look every name up in all that they have.
    if (std::max(attributes_.size(), methods_.size()) > kMostMembers) {
      Fail(definition_.name_range, "a class has " + std::to_string(attributes_.size()) + " attributes and " +
                                       std::to_string(methods_.size()) + " methods; at most " +
                                       std::to_string(kMostMembers) + " of each can be served");
    }
  }

  void ReadAssign(const tree::Assign& assign) {
    const tree::Expr& target = *assign.targets.front();
    if (const auto* subscript = dyn_cast<tree::Subscript>(&target)) {
      // __annotations__["0"] = T: an attribute whose name is no identifier.
      const auto* name =
          subscript->indices.size() == 1 ? dyn_cast<tree::StringConstant>(subscript->indices[0]) : nullptr;
      if (!name || subscript->value->range.text() != "__annotations__") {
        Fail(assign.range, "expected __annotations__[\"name\"]");
      }
      attributes_.push_back({name->value, assign.value});
      return;
    }
    const auto* name = dyn_cast<tree::Name>(&target);
    if (!name) Fail(assign.range, "expected an attribute's name");
    if (name->id == "__annotations__") return;
    if (name->id == "__parameters__") {
      parameters_ = StringList(*assign.value);
    } else if (name->id == "__buffers__") {
      buffers_ = StringList(*assign.value);
    } else if (name->id == "__forward_pre_hooks__") {
      pre_hooks_ = StringList(*assign.value);
    } else if (name->id == "__forward_hooks__") {
      hooks_ = StringList(*assign.value);
    } else if (!resolver_.written()) {  // people's are Python's own: reading one says that it is not known
      Fail(assign.range, "an attribute needs a type, as in `" + std::string(name->id) + " : int`");
    }
  }

  c10::NamedTypePtr ImportNamedTuple() {
    std::vector<std::string> names;
    std::vector<TypePtr> types;
    std::vector<c10::IValue> defaults;
    for (const tree::Stmt* statement : definition_.body) {
      if (statement->kind == Kind::kPass) continue;
      const auto* assign = dyn_cast<tree::AnnAssign>(statement);
      const auto* name = assign ? dyn_cast<tree::Name>(assign->target) : nullptr;
      if (!name) Fail(statement->range, "a named tuple's body can only have fields with types");
      names.emplace_back(name->id);
      types.push_back(resolver_.ResolveType(*assign->annotation));
      RequireFieldSize(*types.back());
      if (assign->value) {
        defaults.push_back(EvaluateConstant(*assign->value, types.back(), resolver_));
      } else if (!defaults.empty()) {
        Fail(statement->range, "a field without a default follows one with a default");
      }
    }
    c10::TupleTypePtr type = c10::TupleType::createNamed(c10::QualifiedName(name_), names, types, defaults);
    RequireTypeSize(*type);
    resolver_.unit().AddType(type);
    return type;
  }

  c10::NamedTypePtr ImportEnum() {
    std::vector<c10::EnumNameValue> members;
    for (const tree::Stmt* statement : definition_.body) {
      if (statement->kind == Kind::kPass) continue;
      const auto* assign = dyn_cast<tree::Assign>(statement);
      const auto* name = assign ? dyn_cast<tree::Name>(assign->targets.front()) : nullptr;
      if (!name) Fail(statement->range, "an enum's body can only have members with values");
      members.emplace_back(std::string(name->id), EvaluateConstant(*assign->value, nullptr, resolver_));
    }
    if (members.empty()) Fail(definition_.name_range, "an enum without members");
    TypePtr value_type = members.front().second.type();
    for (const c10::EnumNameValue& member : members) {
      if (*member.second.type() != *value_type) Fail(definition_.name_range, "an enum's values must be of one type");
    }
    c10::EnumTypePtr type = c10::EnumType::create(c10::QualifiedName(name_), std::move(value_type), std::move(members),
                                                  resolver_.unit().opaque());
    resolver_.unit().AddType(type);
    return type;
  }

  c10::NamedTypePtr ImportInterface(bool is_module) {
    c10::InterfaceTypePtr type = c10::InterfaceType::create(c10::QualifiedName(name_), is_module);
    resolver_.unit().AddType(type);
    for (const tree::Stmt* statement : definition_.body) {
      if (statement->kind == Kind::kPass) continue;
      const auto* method = dyn_cast<tree::FunctionDef>(statement);
      if (!method) Fail(statement->range, "an interface's body can only have methods");
      // The object is typed Any: naming the interface would make it own itself.
      c10::FunctionSchema schema = resolver_.MakeSchema(std::string(method->name), *method, c10::AnyType::get());
      if (schema.returns().empty()) {
        schema = schema.cloneWithReturns({c10::Argument("", c10::NoneType::get())});
      }
      type->addMethod(std::move(schema));
    }
    return type;
  }

  ArchiveResolver& resolver_;
  const std::string& name_;
  const tree::ClassDef& definition_;
  std::vector<Attribute> attributes_;
  std::vector<const tree::AnnAssign*> constants_;
  std::vector<const tree::FunctionDef*> methods_;
  std::vector<std::string_view> parameters_;
  std::vector<std::string_view> buffers_;
  std::vector<std::string_view> pre_hooks_;
  std::vector<std::string_view> hooks_;
  std::vector<std::pair<std::string_view, Function*>> hook_functions_;
};

}  // namespace

c10::NamedTypePtr ImportClass(ArchiveResolver& resolver, const std::string& qualified_name,
                              const tree::ClassDef& definition) {
  try {
    return ClassImporter(resolver, qualified_name, definition).Import();
  } catch (const c10::Error& error) {
    Fail(definition.name_range, error.what_without_backtrace());
  }
}

}  // namespace hearth
