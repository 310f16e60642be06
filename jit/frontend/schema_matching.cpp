#include "jit/frontend/schema_matching.h"

#include <sstream>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using c10::TypeKind;

// int[2] takes one int, float[2] one float, repeated.
bool IsScalarUsedAsList(const TypePtr& type, const c10::Argument& formal) {
  if (!formal.N()) return false;
  const TypeKind kind = type->kind();
  if (kind != TypeKind::IntType && kind != TypeKind::FloatType) return false;
  const auto* list = UnwrapOptional(formal.type())->castRaw<c10::ListType>();
  return list && list->getElementType()->kind() == kind;
}

// torch.zeros(2, 3): the last positional argument may be a list written as several.
bool TakesRestAsList(const c10::FunctionSchema& schema, size_t index) {
  const auto& formals = schema.arguments();
  const c10::Argument& formal = formals[index];
  const bool is_last = index + 1 == formals.size() || formals[index + 1].kwarg_only();
  if (!is_last || formal.N()) return false;
  const auto* list = formal.type()->castRaw<c10::ListType>();
  return list && list->getElementType()->kind() != TypeKind::VarType;
}

// A quick no before the general machinery builds its explanations.
bool CannotMatch(const TypePtr& formal, const TypePtr& actual) {
  const TypeKind kind = actual->kind();
  switch (formal->kind()) {
    case TypeKind::ListType:
      return kind != TypeKind::ListType && kind != TypeKind::TupleType;
    case TypeKind::DictType:
      return kind != TypeKind::DictType;
    case TypeKind::TupleType:
      return kind != TypeKind::TupleType;
    case TypeKind::FutureType:
    case TypeKind::AwaitType:
    case TypeKind::RRefType:
      return kind != formal->kind();
    default:
      return false;
  }
}

class Matcher {
 public:
  Matcher(const c10::FunctionSchema& schema, const CallArguments& arguments, bool implicit,
          const ArgumentContext& context, Match* match, std::string* why)
      : schema_(schema), arguments_(arguments), implicit_(implicit), context_(context), match_(match), why_(why) {}

  bool Run() {
    match_->schema = &schema_;
    match_->implicit = implicit_;
    match_->slots.clear();
    match_->returns.clear();
    const auto& formals = schema_.arguments();
    match_->slots.reserve(formals.size());
    Value* self = arguments_.self;
    size_t used = 0;
    size_t used_named = 0;
    for (size_t i = 0; i < formals.size(); ++i) {
      const c10::Argument& formal = formals[i];
      if (self && formal.name() == "self") {
        if (!Bind(formal, self)) return false;
        self = nullptr;
      } else if (!formal.kwarg_only() && used < arguments_.positional.size()) {
        if (implicit_ && TakesRestAsList(schema_, i)) {
          const TypePtr& actual = arguments_.positional[used]->type();
          if (actual->kind() != TypeKind::ListType && !ConvertibleToList(actual, formal.type())) {
            if (!BindRest(formal, used)) return false;
            used = arguments_.positional.size();
            continue;
          }
        }
        if (!Bind(formal, arguments_.positional[used++])) return false;
      } else if (const NamedArgument* named = FindNamed(formal)) {
        if (!Bind(formal, named->value)) return false;
        ++used_named;
      } else if (formal.default_value()) {
        match_->slots.push_back({Match::Slot::Source::kDefault, &formal, nullptr, 0, formal.type()});
      } else {
        return Fail("Argument " + formal.name() + " not provided.\n");
      }
    }
    match_->used_positional = used;
    if (used < arguments_.positional.size() && !schema_.is_vararg()) {
      return FailWith([&] {
        return "Expected at most " + std::to_string(used) + " arguments but found " +
               std::to_string(arguments_.positional.size()) + " positional arguments.\n";
      });
    }
    if (used_named < arguments_.named.size()) return Fail(ExplainNamed());
    if (self) return Fail("The object that this is a method of is no argument of it.\n");
    return ResolveReturns();
  }

 private:
  bool Fail(const std::string& reason) {
    if (why_) *why_ = reason;
    return false;
  }
  template <class Explain>
  bool FailWith(const Explain& explain) {
    if (why_) *why_ = explain();
    return false;
  }

  // The named argument for a formal; `input` is another name for an aten operator's self.
  const NamedArgument* FindNamed(const c10::Argument& formal) const {
    for (const NamedArgument& named : arguments_.named) {
      if (named.name == formal.name()) return &named;
      if (named.name == "input" && formal.name() == "self" && schema_.name().starts_with("aten::")) return &named;
    }
    return nullptr;
  }

  std::string ExplainNamed() const {
    if (!why_) return {};
    for (const NamedArgument& named : arguments_.named) {
      const std::string name(named.name);
      const auto index = schema_.argumentIndexWithName(name);
      if (!index) return "Keyword argument " + name + " unknown.\n";
      const Match::Slot& slot = match_->slots[*index];
      if (slot.value != named.value) return "Keyword argument " + name + " specified twice.\n";
    }
    return "A keyword argument is specified twice.\n";
  }

  // The formal's type with its variables replaced, after matching them with the actual's; null if they do not fit.
  TypePtr Concrete(const TypePtr& formal, const TypePtr& actual) {
    if (!formal->hasFreeVariables()) return formal;
    if (CannotMatch(formal, actual)) {
      if (why_) *why_ = "Could not match type " + actual->annotation_str() + " to " + formal->annotation_str() + ".\n";
      return nullptr;
    }
    const c10::MatchTypeReturn matched = c10::matchTypeVariables(formal, actual, variables_);
    if (!matched.success()) {
      if (why_) {
        *why_ = "Could not match type " + actual->annotation_str() + " to " + formal->annotation_str() + ": " +
                matched.reason() + "\n";
      }
      return nullptr;
    }
    TypePtr concrete = c10::tryEvalTypeVariables(formal, variables_);
    if (!concrete && why_) {
      *why_ = "Type variables in type " + formal->annotation_str() + " could not be inferred from actual type " +
              actual->annotation_str() + ".\n";
    }
    return concrete;
  }

  bool Fits(const TypePtr& actual, const TypePtr& wanted, Value* value) {
    const TypePtr converted = ConvertedType(actual, wanted, context_.IsEmptyListLiteral(value), implicit_);
    return IsSubtype(converted, wanted);
  }

  bool Bind(const c10::Argument& formal, Value* value) {
    const TypePtr& actual = value->type();
    if (IsScalarUsedAsList(actual, formal)) {
      match_->slots.push_back({Match::Slot::Source::kRepeated, &formal, value, 0, formal.type()});
      return true;
    }
    TypePtr wanted = Concrete(formal.type(), actual);
    if (!wanted) {
      if (why_) *why_ += "(argument '" + formal.name() + "')\n";
      return false;
    }
    if (actual.get() != wanted.get() && !Fits(actual, wanted, value)) {
      return FailWith([&] { return ExplainMismatch(formal, wanted, actual); });
    }
    match_->slots.push_back({Match::Slot::Source::kValue, &formal, value, 0, std::move(wanted)});
    return true;
  }

  bool BindRest(const c10::Argument& formal, size_t first) {
    const TypePtr& element = formal.type()->expectRef<c10::ListType>().getElementType();
    for (Value* value : arguments_.positional.subspan(first)) {
      const TypePtr wanted = Concrete(element, value->type());
      if (!wanted || !Fits(value->type(), wanted, value)) {
        return FailWith([&] { return ExplainMismatch(formal, element, value->type()); });
      }
    }
    TypePtr list =
        formal.type()->hasFreeVariables() ? c10::tryEvalTypeVariables(formal.type(), variables_) : formal.type();
    match_->slots.push_back({Match::Slot::Source::kList, &formal, nullptr, first, std::move(list)});
    return true;
  }

  std::string ExplainMismatch(const c10::Argument& formal, const TypePtr& wanted, const TypePtr& actual) const {
    std::ostringstream out;
    out << "Expected a value of type '" << wanted->annotation_str() << "' for argument '" << formal.name()
        << "' but instead found type '" << actual->annotation_str() << "'.\n";
    if (formal.is_inferred_type()) {
      out << "Inferred '" << formal.name()
          << "' to be of type 'Tensor' because it was not annotated with an explicit type.\n";
    }
    std::ostringstream reason;
    if (!actual->isSubtypeOfExt(*wanted, &reason) && !reason.str().empty()) out << reason.str() << "\n";
    return out.str();
  }

  bool ResolveReturns() {
    for (const c10::Argument& returned : schema_.returns()) {
      TypePtr type = returned.type();
      if (type->hasFreeVariables()) type = c10::tryEvalTypeVariables(type, variables_);
      if (!type) return Fail(returned.type()->annotation_str() + " has unbound type variables.\n");
      match_->returns.push_back(std::move(type));
    }
    return true;
  }

  const c10::FunctionSchema& schema_;
  const CallArguments& arguments_;
  const bool implicit_;
  const ArgumentContext& context_;
  Match* match_;
  std::string* why_;
  c10::TypeEnv variables_;
};

Value* InsertList(Graph& graph, const SourceRange& range, std::span<Value* const> elements, const TypePtr& type) {
  Node* node = graph.Create(sym::kListConstruct, elements, 1);
  node->SetRange(range);
  node->output()->SetType(type);
  return graph.Insert(node)->output();
}

}  // namespace

bool TryMatch(const c10::FunctionSchema& schema, const CallArguments& arguments, bool implicit,
              const ArgumentContext& context, Match* match, std::string* why) {
  return Matcher(schema, arguments, implicit, context, match, why).Run();
}

std::vector<Value*> EmitArguments(Graph& graph, const SourceRange& range, const Match& match,
                                  const CallArguments& arguments, ArgumentContext& context) {
  std::vector<Value*> inputs;
  inputs.reserve(match.slots.size());
  const auto convert = [&](Value* value, const TypePtr& type) {
    return value->type().get() == type.get()
               ? value
               : Convert(graph, range, value, type, context.IsEmptyListLiteral(value), match.implicit);
  };
  for (const Match::Slot& slot : match.slots) {
    switch (slot.source) {
      case Match::Slot::Source::kValue:
        inputs.push_back(convert(slot.value, slot.type));
        break;
      case Match::Slot::Source::kRepeated: {
        const std::vector<Value*> repeated(static_cast<size_t>(*slot.formal->N()), slot.value);
        inputs.push_back(InsertList(graph, range, repeated, UnwrapOptional(slot.type)));
        break;
      }
      case Match::Slot::Source::kList: {
        const TypePtr& element = slot.type->expectRef<c10::ListType>().getElementType();
        std::vector<Value*> elements;
        for (Value* value : arguments.positional.subspan(slot.first)) elements.push_back(convert(value, element));
        inputs.push_back(InsertList(graph, range, elements, slot.type));
        break;
      }
      case Match::Slot::Source::kDefault:
        inputs.push_back(context.DefaultConstant(*slot.formal->default_value(), slot.type));
        break;
    }
  }
  if (match.schema->is_vararg()) {
    for (Value* value : arguments.positional.subspan(match.used_positional)) inputs.push_back(value);
  }
  return inputs;
}

}  // namespace hearth
