// Loops and comprehensions over what can be iterated: ranges, lists, strings, dicts, tensors, tuples, modules, zip and
// enumerate of those.
#include <algorithm>
#include <limits>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

void Emitter::EmitWhile(const tree::While& statement) {
  Value* max_trip = IntConstant(std::numeric_limits<int64_t>::max());
  EmitLoop(
      max_trip, [&] { return EmitCondition(*statement.condition); }, AssignedNames(statement.body), statement.body,
      statement.range, [](Value*) {});
}

void Emitter::EmitFor(const tree::For& statement) {
  const Iterable iterable = MakeIterable(*statement.iter);
  if (iterable.static_length) {
    const Exits exits = FindExits(statement.body);
    if (exits.may_break || exits.may_continue) {
      Fail(statement.range, "a loop over a tuple or a module's children cannot be left by break or continue");
    }
    return EmitUnrolled(statement, iterable, exits, 0);
  }
  std::vector<std::string_view> assigned = AssignedNames({{&statement}});
  EmitLoop(iterable.length, nullptr, std::move(assigned), statement.body, statement.range,
           [&](Value* round) { AssignTo(*statement.target, iterable.at(round), statement.target->range); });
}

void Emitter::EmitUnrolled(const tree::For& statement, const Iterable& iterable, const Exits& exits, size_t round) {
  for (; round < *iterable.static_length; ++round) {
    AssignTo(*statement.target, iterable.at_static(round), statement.target->range);
    EmitStatements(statement.body);
    if (exits.may_return && round + 1 < *iterable.static_length) {
      return EmitGuarded([&] { EmitUnrolled(statement, iterable, exits, round + 1); }, exits, statement.range);
    }
  }
}

Emitter::Iterable Emitter::MakeIterable(const tree::Expr& expr) {
  const auto* call = dyn_cast<tree::Call>(&expr);
  const auto* callee = call ? dyn_cast<tree::Name>(call->callee) : nullptr;
  if (!callee) return MakeIterable(EmitSugared(expr), expr.range);
  const SugaredValue function = EmitName(*callee);
  const auto* form = std::get_if<SpecialFormValue>(&function);
  if (!form) return MakeIterable(EmitCallTo(function, *call, nullptr), expr.range);

  Iterable iterable;
  const SourceRange range = expr.range;
  switch (form->form) {
    case SpecialForm::kRange: {
      const std::vector<Value*> bounds = EvaluateArguments(*call).positional;
      if (bounds.empty() || bounds.size() > 3) Fail(range, "range takes one to three arguments");
      for (Value* bound : bounds) {
        if (bound->type()->kind() != c10::TypeKind::IntType) {
          Fail(range, "range takes int arguments but found " + bound->type()->annotation_str());
        }
      }
      if (bounds.size() == 1) {
        iterable.length = bounds[0];
        iterable.at = [](Value* round) { return SugaredValue(round); };
        return iterable;
      }
      Value* start = bounds[0];
      Value* step = bounds.size() == 3 ? bounds[2] : IntConstant(1);
      iterable.length = CallOperator("aten", "__range_length", {start, bounds[1], step}, range);
      iterable.at = [this, start, step, range](Value* round) {
        return SugaredValue(CallOperator("aten", "__derive_index", {round, start, step}, range));
      };
      return iterable;
    }
    case SpecialForm::kEnumerate:
    case SpecialForm::kZip: {
      std::vector<Iterable> parts;
      if (form->form == SpecialForm::kEnumerate) {
        if (call->args.empty() || call->args.size() > 2) Fail(range, "enumerate takes one or two arguments");
        Value* start = call->args.size() == 2 ? EmitExpr(*call->args[1]) : nullptr;
        for (const tree::Keyword& keyword : call->keywords) {
          if (keyword.name == "start") start = EmitExpr(*keyword.value);
        }
        Iterable counter;
        counter.at = [this, start, range](Value* round) {
          return SugaredValue(start ? CallOperator("aten", "add", {round, start}, range) : round);
        };
        counter.at_static = [this, start, range](size_t i) {
          Value* number = IntConstant(static_cast<int64_t>(i));
          return SugaredValue(start ? CallOperator("aten", "add", {number, start}, range) : number);
        };
        parts.push_back(std::move(counter));
        parts.push_back(MakeIterable(*call->args[0]));
      } else {
        if (call->args.empty()) Fail(range, "zip takes at least one argument");
        for (const tree::Expr* argument : call->args) parts.push_back(MakeIterable(*argument));
      }
      const bool is_static =
          std::any_of(parts.begin(), parts.end(), [](const Iterable& part) { return part.static_length.has_value(); });
      if (is_static) {
        for (const Iterable& part : parts) {
          if (!part.at_static) {
            Fail(range, "what is walked together must either all be of a length known while compiling or none");
          }
          if (part.static_length) {
            iterable.static_length =
                std::min(iterable.static_length.value_or(*part.static_length), *part.static_length);
          }
        }
        iterable.at_static = [this, parts, range](size_t i) {
          ResultsValue values;
          for (const Iterable& part : parts) values.values.push_back(AsValue(part.at_static(i), range));
          return SugaredValue(std::move(values));
        };
        return iterable;
      }
      std::vector<Value*> lengths;
      for (const Iterable& part : parts) {
        if (part.length) lengths.push_back(part.length);
      }
      iterable.length = lengths.front();
      if (lengths.size() > 1) {
        Value* list = InsertConstruct(sym::kListConstruct, lengths, c10::ListType::ofInts(), range);
        iterable.length = CallOperator("prim", "min", {list}, range);
      }
      iterable.at = [this, parts, range](Value* round) {
        ResultsValue values;
        for (const Iterable& part : parts) values.values.push_back(AsValue(part.at(round), range));
        return SugaredValue(std::move(values));
      };
      return iterable;
    }
    case SpecialForm::kReversed: {
      if (call->args.size() != 1) Fail(range, "reversed takes one argument");
      Iterable inner = MakeIterable(*call->args[0]);
      if (inner.static_length) {
        iterable.static_length = inner.static_length;
        iterable.at_static = [inner](size_t i) { return inner.at_static(*inner.static_length - 1 - i); };
        return iterable;
      }
      iterable.length = inner.length;
      iterable.at = [this, inner, range](Value* round) {
        Value* last = CallOperator("aten", "sub", {inner.length, IntConstant(1)}, range);
        return inner.at(CallOperator("aten", "sub", {last, round}, range));
      };
      return iterable;
    }
    default:
      return MakeIterable(EmitSpecialForm(*form, *call, nullptr), range);
  }
}

Emitter::Iterable Emitter::MakeIterable(const SugaredValue& sugared, const SourceRange& range) {
  Iterable iterable;
  if (const auto* type = std::get_if<TypeValue>(&sugared)) {
    if (const auto* enum_type = type->type->castRaw<c10::EnumType>()) {
      const std::vector<c10::EnumNameValue> members = enum_type->enumNamesValues().vec();
      iterable.static_length = members.size();
      iterable.at_static = [this, named = type->type, members, range](size_t i) {
        return GetTypeAttribute(named, members[i].first, range);
      };
      return iterable;
    }
  }
  Value* value = AsValue(sugared, range);
  const auto by_index = [&](Value* list) {
    iterable.length = CallOperator("aten", "len", {list}, range);
    iterable.at = [this, list, range](Value* round) {
      return SugaredValue(CallOperator("aten", "__getitem__", {list, round}, range));
    };
    return iterable;
  };
  switch (value->type()->kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::StringType:
      return by_index(value);
    case c10::TypeKind::DictType:
      return by_index(CallOperator("aten", "keys", {value}, range));
    case c10::TypeKind::TensorType:
      iterable.length = CallOperator("aten", "len", {value}, range);
      iterable.at = [this, value, range](Value* round) {
        return SugaredValue(CallOperator("aten", "select", {value, IntConstant(0), round}, range));
      };
      return iterable;
    case c10::TypeKind::TupleType: {
      const std::vector<Value*> elements = UnpackTuple(value, range);
      iterable.static_length = elements.size();
      iterable.at_static = [elements](size_t i) { return SugaredValue(elements[i]); };
      return iterable;
    }
    case c10::TypeKind::ClassType: {
      const auto& type = value->type()->expectRef<c10::ClassType>();
      if (!type.is_module()) break;
      std::vector<std::string> names;
      for (size_t i = 0; i < type.numAttributes(); ++i) {
        if (type.getAttribute(i)->is_module()) names.push_back(type.getAttributeName(i));
      }
      iterable.static_length = names.size();
      iterable.at_static = [this, value, names, range](size_t i) { return GetValueAttribute(value, names[i], range); };
      return iterable;
    }
    default:
      break;
  }
  Fail(range, "cannot iterate over a value of type " + value->type()->annotation_str());
}

void Emitter::EmitGenerators(std::span<const tree::Generator> generators, const SourceRange& range,
                             const Body& innermost) {
  if (generators.empty()) return innermost();
  const tree::Generator& generator = generators.front();
  const Iterable iterable = MakeIterable(*generator.iter);
  const std::function<void(size_t)> filtered = [&](size_t condition) {
    if (condition == generator.conditions.size()) return EmitGenerators(generators.subspan(1), range, innermost);
    EmitIfElse(
        EmitCondition(*generator.conditions[condition]), range, [&] { filtered(condition + 1); }, {}, [] {}, {});
  };
  if (iterable.static_length) {
    for (size_t i = 0; i < *iterable.static_length; ++i) {
      environment_.PushScope();
      AssignTo(*generator.target, iterable.at_static(i), generator.target->range);
      filtered(0);
      environment_.PopScope();
    }
    return;
  }
  EmitPlainLoop(iterable.length, BoolConstant(true), {}, range, [&](Value* round) {
    AssignTo(*generator.target, iterable.at(round), generator.target->range);
    filtered(0);
    return BoolConstant(true);
  });
}

Value* Emitter::EmitListComprehension(const tree::ListComp& comprehension, const TypePtr& hint) {
  // The list is made before its elements' type is known, which is set when the first element has been emitted.
  TypePtr element_hint;
  if (hint) {
    if (const auto* list = UnwrapOptional(hint)->castRaw<c10::ListType>()) element_hint = list->getElementType();
  }
  Value* result = InsertConstruct(sym::kListConstruct, {}, c10::ListType::ofTensors(), comprehension.range);
  bool typed = false;
  EmitGenerators(comprehension.generators, comprehension.range, [&] {
    Value* element = EmitExpr(*comprehension.element, element_hint);
    if (!typed) {
      TypePtr type = element_hint && IsSubtype(element->type(), element_hint) ? element_hint : element->type();
      result->SetType(c10::ListType::create(std::move(type)));
      typed = true;
    }
    const OperatorSet* append = resolver_.operators().Find("aten", "append");
    Value* const arguments[] = {result, element};
    CallOperator(*append, {arguments, {}}, comprehension.range);
  });
  return result;
}

Value* Emitter::EmitDictComprehension(const tree::DictComp& comprehension, const TypePtr& hint) {
  const auto* wanted = hint ? UnwrapOptional(hint)->castRaw<c10::DictType>() : nullptr;
  const TypePtr key_hint = wanted ? wanted->getKeyType() : nullptr;
  const TypePtr value_hint = wanted ? wanted->getValueType() : nullptr;
  TypePtr initial = c10::DictType::create(c10::StringType::get(), c10::TensorType::get());
  Value* result = InsertConstruct(sym::kDictConstruct, {}, std::move(initial), comprehension.range);
  bool typed = false;
  EmitGenerators(comprehension.generators, comprehension.range, [&] {
    Value* key = EmitExpr(*comprehension.key, key_hint);
    Value* value = EmitExpr(*comprehension.value, value_hint);
    if (!typed) {
      TypePtr value_type = value_hint && IsSubtype(value->type(), value_hint) ? value_hint : value->type();
      result->SetType(c10::DictType::create(key->type(), std::move(value_type)));
      typed = true;
    }
    const OperatorSet* set_item = resolver_.operators().Find("aten", "_set_item");
    Value* const arguments[] = {result, key, value};
    CallOperator(*set_item, {arguments, {}}, comprehension.range);
  });
  return result;
}

}  // namespace hearth
