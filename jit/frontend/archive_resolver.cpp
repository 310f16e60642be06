#include "jit/frontend/archive_resolver.h"

#include <torch/custom_class.h>

#include <utility>

#include "jit/frontend/class_importer.h"
#include "jit/frontend/constant_expression.h"
#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/frontend/parser.h"
#include "jit/ir/type_parser.h"
#include "jit/ir/type_size.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

using tree::dyn_cast;

constexpr std::string_view kCustomClasses = "__torch__.torch.classes.";

// N of BroadcastingListN[T], which takes one T for all N.
std::optional<int32_t> BroadcastLength(const tree::Expr& annotation) {
  constexpr std::string_view kPrefix = "BroadcastingList";
  const std::string_view text = annotation.range.text();
  const size_t at = text.find(kPrefix);
  if (at == std::string_view::npos || at + kPrefix.size() >= text.size()) return std::nullopt;
  const char digit = text[at + kPrefix.size()];
  if (digit < '1' || digit > '9') return std::nullopt;
  return digit - '0';
}

// A default as the parameter takes it: a bool for a number, a number for one of a wider kind.
c10::IValue Widen(c10::IValue value, const TypePtr& type) {
  switch (UnwrapOptional(type)->kind()) {
    case c10::TypeKind::IntType:
      if (value.isBool()) return static_cast<int64_t>(value.toBool());
      return value;
    case c10::TypeKind::FloatType:
      if (value.isBool()) return static_cast<double>(value.toBool());
      return value;
    case c10::TypeKind::ComplexType:
      if (value.isInt()) return c10::complex<double>(static_cast<double>(value.toInt()), 0);
      if (value.isDouble()) return c10::complex<double>(value.toDouble(), 0);
      return value;
    default:
      return value;
  }
}

// Another value for a scope.
class Exchange {
 public:
  Exchange(bool& place, bool value) : place_(place), before_(std::exchange(place, value)) {}
  ~Exchange() { place_ = before_; }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  bool& place_;
  const bool before_;
};

}  // namespace

ArchiveResolver::ArchiveResolver(std::shared_ptr<CompilationUnit> unit, SourceImporter::SourceProvider provider,
                                 const std::vector<c10::IValue>* constants, int64_t version)
    : unit_(std::move(unit)),
      provider_(std::move(provider)),
      constants_(constants),
      old_operators_(version),
      operators_(version == OperatorTable::kRegistryOnly ? version : OperatorTable::kToday) {}

const std::vector<c10::IValue>& ArchiveResolver::constants() const {
  static const auto* const none = new std::vector<c10::IValue>();
  return constants_ ? *constants_ : *none;
}

const tree::Tree* ArchiveResolver::FindFile(const std::string& qualifier) {
  const auto [found, is_new] = files_.try_emplace(qualifier);
  if (!is_new) return found->second.get();
  std::shared_ptr<const Source> source = provider_(qualifier);
  if (!source) return nullptr;
  unit_->AddSource(source);
  const std::string& name = source->name();
  const LoadBudget::Activity reading("reading ", name);
  std::unique_ptr<const tree::Tree> parsed = ParseFile(std::move(source));
  return (files_[qualifier] = std::move(parsed)).get();
}

const tree::Stmt* ArchiveResolver::FindDefinition(const std::string& qualified_name) {
  const size_t dot = qualified_name.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const tree::Tree* file = FindFile(qualified_name.substr(0, dot));
  return file ? file->Find(std::string_view(qualified_name).substr(dot + 1)) : nullptr;
}

c10::NamedTypePtr ArchiveResolver::FindType(const std::string& qualified_name) {
  if (c10::NamedTypePtr known = unit_->FindType(qualified_name)) return known;
  if (qualified_name.starts_with(kCustomClasses)) return torch::getCustomClass(qualified_name);
  const auto* definition = dyn_cast<tree::ClassDef>(FindDefinition(qualified_name));
  if (!definition) return nullptr;
  if (++depth_ > kMaxDepth) Fail(definition->name_range, "classes refer to classes too deeply");
  c10::NamedTypePtr type = ImportClass(*this, qualified_name, *definition);
  --depth_;
  return type;
}

Function* ArchiveResolver::FindFunction(const std::string& qualified_name) {
  if (Function* known = unit_->FindFunction(qualified_name)) return known;
  const auto* definition = dyn_cast<tree::FunctionDef>(FindDefinition(qualified_name));
  if (!definition) return nullptr;
  return unit_->AddFunction(DeclareFunction(qualified_name, *definition));
}

SugaredValue ArchiveResolver::ResolveQualified(std::string_view qualified_name) {
  const auto known = names_.find(qualified_name);
  if (known != names_.end()) return known->second;
  const std::string name(qualified_name);
  SugaredValue value;
  if (Function* function = FindFunction(name)) {
    value = FunctionValue{function};
  } else if (c10::NamedTypePtr type = FindType(name)) {
    value = TypeValue{std::move(type)};
  }
  names_.emplace(name, value);
  return value;
}

TypePtr ArchiveResolver::ResolveType(const tree::Expr& annotation) {
  return ParseAnnotation(annotation.range.text(), annotation.range);
}

TypePtr ArchiveResolver::ParseAnnotation(std::string_view text, const SourceRange& range) {
  const auto known = types_.find(text);
  if (known != types_.end()) return known->second;
  TypePtr type;
  try {
    type = hearth::ParseType(text, [this](const std::string& name) -> TypePtr { return FindAnnotated(name); });
    RequireTypeSize(*type);
  } catch (const TypeParseError& error) {
    SourceRange place = range;
    if (place.source) place.begin = std::min<uint32_t>(place.begin + static_cast<uint32_t>(error.offset), place.end);
    std::string message = error.message + (range.source ? "" : " in the type '" + std::string(text) + "'");
    if (message.find(kCustomClasses) != std::string::npos) {
      message += "; C++ classes come from a library: name its file in the setting operator_libraries";
    }
    Fail(place, message);
  } catch (const c10::Error& error) {
    Fail(range, error.what_without_backtrace());
  }
  types_.emplace(std::string(text), type);
  return type;
}

c10::FunctionSchema ArchiveResolver::MakeSchema(const std::string& name, const tree::FunctionDef& definition,
                                                const TypePtr& self) {
  std::vector<c10::Argument> arguments;
  arguments.reserve(definition.parameters.size());
  bool seen_default = false;
  if (self && definition.parameters.empty()) Fail(definition.name_range, "a method needs a parameter for its object");
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const tree::Parameter& parameter = definition.parameters[i];
    if (parameter.kind == tree::ParameterKind::kVarArgs || parameter.kind == tree::ParameterKind::kVarKeywords) {
      Fail(parameter.range, "functions with a variable number of arguments are not supported");
    }
    TypePtr type;
    std::optional<int32_t> broadcast;
    std::optional<c10::IValue> default_value;
    if (i == 0 && self) {
      type = self;
    } else if (parameter.annotation) {
      type = ResolveType(*parameter.annotation);
      broadcast = BroadcastLength(*parameter.annotation);
    } else {
      type = c10::TensorType::getInferred();
    }
    const bool keyword_only = parameter.kind == tree::ParameterKind::kKeywordOnly;
    if (parameter.default_value) {
      default_value = Widen(EvaluateConstant(*parameter.default_value, type, *this), type);
      if (!default_value->isTensor() && !IsSubtype(default_value->type(), type)) {
        Fail(parameter.range, "the default is of type " + default_value->type()->annotation_str() +
                                  " but the parameter of type " + type->annotation_str());
      }
      seen_default = true;
    } else if (seen_default && !keyword_only && type->kind() != c10::TypeKind::ListType) {
      Fail(parameter.range, "a parameter without a default follows one with a default");
    }
    arguments.emplace_back(std::string(parameter.name), type, broadcast, std::move(default_value), keyword_only);
  }
  std::vector<c10::Argument> returns;
  if (definition.returns) returns.emplace_back("", ResolveType(*definition.returns));
  return c10::FunctionSchema(name, "", std::move(arguments), std::move(returns));
}

std::unique_ptr<Function> ArchiveResolver::DeclareFunction(const std::string& qualified_name,
                                                           const tree::FunctionDef& definition) {
  return Declare(qualified_name, definition, nullptr, Calls::kOfToday);
}

std::unique_ptr<Function> ArchiveResolver::DeclareMethod(const std::string& qualified_name,
                                                         const tree::FunctionDef& definition, const TypePtr& self) {
  return Declare(qualified_name, definition, self, Calls::kUpgraded);
}

std::unique_ptr<Function> ArchiveResolver::DeclareHook(const std::string& qualified_name,
                                                       const tree::FunctionDef& definition, const TypePtr& self) {
  return Declare(qualified_name, definition, self, Calls::kOfToday);
}

TypePtr ArchiveResolver::InferReturns(const tree::FunctionDef& definition, const c10::FunctionSchema& schema) {
  if (!schema.returns().empty() || !ReturnsEarly(definition.body)) return nullptr;
  Graph scratch;
  return Emitter(*this, scratch).InferReturnType(definition, schema);
}

std::unique_ptr<Function> ArchiveResolver::Declare(const std::string& qualified_name,
                                                   const tree::FunctionDef& definition, const TypePtr& self,
                                                   Calls calls) {
  const c10::QualifiedName name(qualified_name);
  const tree::FunctionDef* body = &definition;
  auto function = std::make_unique<Function>(
      name, MakeSchema(name.name(), definition, self), [this, body, calls](Function& defined, Graph& graph) {
        const CompileDepth depth(compile_depth(), body->name_range);
        const Exchange upgrading(upgrades(), calls == Calls::kUpgraded);
        try {
          if (const TypePtr inferred = InferReturns(*body, defined.getSchema())) {
            defined.setSchema(defined.getSchema().cloneWithReturns({c10::Argument("", inferred)}));
          }
          const c10::FunctionSchema& schema = defined.getSchema();
          const TypePtr returned = Emitter(*this, graph).EmitFunction(*body, schema);
          if (schema.returns().empty()) {
            defined.setSchema(schema.cloneWithReturns({c10::Argument("", returned)}));
          }
        } catch (const c10::Error& error) {
          Fail(body->name_range, error.what_without_backtrace());
        }
      });
  definitions_.emplace(function.get(), body);
  return function;
}

const tree::FunctionDef* ArchiveResolver::DefinitionOf(const Function* function) const {
  const auto found = definitions_.find(function);
  return found == definitions_.end() ? nullptr : found->second;
}

}  // namespace hearth
