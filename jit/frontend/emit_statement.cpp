// Statements other than control flow.
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

void Emitter::EmitStatements(tree::StmtList statements) {
  for (size_t i = 0; i < statements.size(); ++i) {
    const tree::Stmt& statement = *statements[i];
    if (statement.kind == Kind::kReturn || statement.kind == Kind::kRaise || statement.kind == Kind::kBreak ||
        statement.kind == Kind::kContinue) {
      return EmitStatement(statement);  // what follows is never reached
    }
    const tree::StmtList rest = statements.subspan(i + 1);
    if (const auto* branch = dyn_cast<tree::If>(&statement)) {
      const Exits exits = FindExits(statement);
      if (exits.may_exit() || exits.always || DecideCondition(*branch->condition)) return EmitIf(*branch, rest);
      EmitIf(*branch, {});
      continue;
    }
    EmitStatement(statement);
    const bool compound =
        statement.kind == Kind::kFor || statement.kind == Kind::kWhile || statement.kind == Kind::kWith;
    if (compound && !rest.empty() && FindExits(statement).may_exit()) return EmitGuarded(rest, statement.range);
  }
}

void Emitter::EmitStatement(const tree::Stmt& statement) {
  try {
    EmitOne(statement);
  } catch (const c10::Error& error) {
    Fail(statement.range, error.what_without_backtrace());
  }
}

void Emitter::EmitOne(const tree::Stmt& statement) {
  switch (statement.kind) {
    case Kind::kAssign:
      return EmitAssign(*cast<tree::Assign>(&statement));
    case Kind::kAnnAssign:
      return EmitAnnAssign(*cast<tree::AnnAssign>(&statement));
    case Kind::kAugAssign:
      return EmitAugAssign(*cast<tree::AugAssign>(&statement));
    case Kind::kExprStmt:
      EmitSugared(*cast<tree::ExprStmt>(&statement)->value);
      return;
    case Kind::kIf:
      return EmitIf(*cast<tree::If>(&statement), {});
    case Kind::kFor:
      return EmitFor(*cast<tree::For>(&statement));
    case Kind::kWhile:
      return EmitWhile(*cast<tree::While>(&statement));
    case Kind::kWith:
      return EmitWith(*cast<tree::With>(&statement), 0);
    case Kind::kReturn:
      return EmitReturn(*cast<tree::Return>(&statement));
    case Kind::kRaise:
      return EmitRaise(*cast<tree::Raise>(&statement));
    case Kind::kAssert:
      return EmitAssert(*cast<tree::Assert>(&statement));
    case Kind::kDelete:
      return EmitDelete(*cast<tree::Delete>(&statement));
    case Kind::kBreak:
      return EmitLoopExit(true, statement.range);
    case Kind::kContinue:
      return EmitLoopExit(false, statement.range);
    case Kind::kPass:
    case Kind::kImport:
      return;
    case Kind::kFunctionDef: {
      const auto* definition = cast<tree::FunctionDef>(&statement);
      return SetVariable(definition->name, ClosureValue{definition}, statement.range);
    }
    default:
      Fail(statement.range, std::string(tree::KindName(statement.kind)) + " is not supported inside of a function");
  }
}

void Emitter::SetVariable(std::string_view name, SugaredValue value, const SourceRange& range, TypePtr declared) {
  empty_lists_.clear();
  if (Value* const* ssa = std::get_if<Value*>(&value)) {
    if ((*ssa)->name().empty() && name.front() != '_' && name.front() != '$') (*ssa)->SetName(std::string(name));
  } else if (std::holds_alternative<Unbound>(value)) {
    Fail(range, "nothing can be assigned to '" + std::string(name) + "'");
  }
  environment_.Set(environment_.Id(name), std::move(value), std::move(declared));
}

void Emitter::EmitAssign(const tree::Assign& assign) {
  if (assign.targets.size() == 1) {
    const tree::Expr& target = *assign.targets.front();
    if (const auto* name = dyn_cast<tree::Name>(&target)) {
      SugaredValue value = EmitSugared(*assign.value);
      if (std::holds_alternative<ResultsValue>(value)) value = AsValue(value, assign.value->range);
      return SetVariable(name->id, std::move(value), assign.range);
    }
    const auto* targets = dyn_cast<tree::Tuple>(&target);
    const auto* values = dyn_cast<tree::Tuple>(assign.value);
    if (targets && values && targets->elements.size() == values->elements.size()) {
      bool starred = false;
      for (const tree::Expr* element : targets->elements) starred |= element->kind == Kind::kStarred;
      for (const tree::Expr* element : values->elements) starred |= element->kind == Kind::kStarred;
      if (!starred) {
        // The right side is read as a whole before anything is written.
        std::vector<SugaredValue> read;
        read.reserve(values->elements.size());
        for (const tree::Expr* element : values->elements) {
          SugaredValue value = EmitSugared(*element);
          if (std::holds_alternative<ResultsValue>(value)) value = AsValue(value, element->range);
          read.push_back(std::move(value));
        }
        for (size_t i = 0; i < read.size(); ++i) AssignTo(*targets->elements[i], read[i], assign.range);
        return;
      }
    }
    if (const auto* attribute = dyn_cast<tree::Attribute>(&target)) {
      Value* object = EmitExpr(*attribute->value);
      TypePtr hint;
      if (const auto* type = object->type()->castRaw<c10::ClassType>()) {
        hint = type->findAttribute(std::string(attribute->attr));
      }
      return SetAttribute(object, attribute->attr, EmitExpr(*assign.value, hint), assign.range);
    }
  }
  SugaredValue value = EmitSugared(*assign.value);
  if (assign.targets.size() > 1 && std::holds_alternative<ResultsValue>(value)) {
    value = AsValue(value, assign.value->range);
  }
  for (const tree::Expr* target : assign.targets) AssignTo(*target, value, assign.range);
}

void Emitter::AssignTo(const tree::Expr& target, const SugaredValue& value, const SourceRange& range) {
  switch (target.kind) {
    case Kind::kName: {
      SugaredValue single = value;
      if (std::holds_alternative<ResultsValue>(value)) single = AsValue(value, range);
      return SetVariable(cast<tree::Name>(&target)->id, std::move(single), range);
    }
    case Kind::kTuple:
      return Unpack(cast<tree::Tuple>(&target)->elements, value, range);
    case Kind::kList:
      return Unpack(cast<tree::List>(&target)->elements, value, range);
    case Kind::kAttribute: {
      const auto* attribute = cast<tree::Attribute>(&target);
      return SetAttribute(EmitExpr(*attribute->value), attribute->attr, AsValue(value, range), range);
    }
    case Kind::kSubscript:
      return AssignSubscript(*cast<tree::Subscript>(&target), AsValue(value, range));
    default:
      Fail(target.range, "cannot assign to this expression");
  }
}

void Emitter::Unpack(tree::ExprList targets, const SugaredValue& value, const SourceRange& range) {
  size_t starred = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]->kind == Kind::kStarred) starred = i;
  }
  const bool has_starred = starred != targets.size();
  std::vector<Value*> values;
  const auto* results = std::get_if<ResultsValue>(&value);
  if (results && !results->values.empty()) {
    values = results->values;
  } else {
    Value* packed = AsValue(value, range);
    if (packed->type()->kind() == c10::TypeKind::TupleType) {
      values = UnpackTuple(packed, range);
    } else {
      if (packed->type()->kind() == c10::TypeKind::TensorType) {
        packed = CallOperator("aten", "unbind", {packed}, range);
      }
      const auto* list = packed->type()->castRaw<c10::ListType>();
      if (!list) {
        Fail(range,
             "expected a tuple or a list to unpack but found a value of type " + packed->type()->annotation_str());
      }
      if (has_starred) Fail(range, "a list cannot be unpacked to a starred target, its length is not known");
      Node* node = InsertNode(sym::kListUnpack, {{packed}}, targets.size(), range);
      for (Value* output : node->outputs()) output->SetType(list->getElementType());
      values.assign(node->outputs().begin(), node->outputs().end());
    }
  }
  const size_t required = has_starred ? targets.size() - 1 : targets.size();
  if (values.size() < required || (!has_starred && values.size() > required)) {
    Fail(range,
         "expected " + std::to_string(required) + " values to unpack but found " + std::to_string(values.size()));
  }
  size_t next = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (i != starred) {
      AssignTo(*targets[i], values[next++], range);
      continue;
    }
    const size_t count = values.size() - required;
    const std::span<Value* const> taken(values.data() + next, count);
    std::vector<TypePtr> types;
    for (Value* one : taken) types.push_back(one->type());
    Value* tuple = InsertConstruct(sym::kTupleConstruct, taken, c10::TupleType::create(std::move(types)), range);
    AssignTo(*cast<tree::Starred>(targets[i])->value, tuple, range);
    next += count;
  }
}

void Emitter::EmitAnnAssign(const tree::AnnAssign& assign) {
  if (!assign.value) Fail(assign.range, "a variable needs a value where its type is declared");
  TypePtr type = resolver_.ResolveType(*assign.annotation);
  Value* value = EmitExpr(*assign.value, type);
  if (value->type()->kind() == c10::TypeKind::NoneType && type->kind() != c10::TypeKind::NoneType &&
      IsSubtype(value->type(), type)) {
    value = InsertPooled(c10::IValue(), type);  // keeps what it would be if it were not None
  } else {
    value = ConvertTo(value, type, assign.range, "the value");
  }
  if (const auto* name = dyn_cast<tree::Name>(assign.target)) {
    return SetVariable(name->id, value, assign.range, std::move(type));
  }
  if (const auto* attribute = dyn_cast<tree::Attribute>(assign.target)) {
    return SetAttribute(EmitExpr(*attribute->value), attribute->attr, value, assign.range, type);
  }
  AssignTo(*assign.target, value, assign.range);
}

}  // namespace hearth
