#include "jit/frontend/tree_walk.h"

#include <algorithm>
#include <unordered_set>

namespace hearth {
namespace {

using namespace tree;

class NameList {
 public:
  void Add(std::string_view name) {
    if (seen_.insert(name).second) names_.push_back(name);
  }
  std::vector<std::string_view> Take() { return std::move(names_); }

 private:
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> names_;
};

void AddTargets(const Expr* target, NameList& names) {
  switch (target->kind) {
    case Kind::kName:
      names.Add(cast<Name>(target)->id);
      break;
    case Kind::kTuple:
      for (const Expr* element : cast<Tuple>(target)->elements) AddTargets(element, names);
      break;
    case Kind::kList:
      for (const Expr* element : cast<List>(target)->elements) AddTargets(element, names);
      break;
    case Kind::kStarred:
      AddTargets(cast<Starred>(target)->value, names);
      break;
    default:
      break;
  }
}

void AddAssigned(StmtList statements, NameList& names) {
  for (const Stmt* statement : statements) {
    switch (statement->kind) {
      case Kind::kAssign:
        for (const Expr* target : cast<Assign>(statement)->targets) AddTargets(target, names);
        break;
      case Kind::kAnnAssign:
        AddTargets(cast<AnnAssign>(statement)->target, names);
        break;
      case Kind::kAugAssign:
        AddTargets(cast<AugAssign>(statement)->target, names);
        break;
      case Kind::kIf:
        AddAssigned(cast<If>(statement)->body, names);
        AddAssigned(cast<If>(statement)->else_body, names);
        break;
      case Kind::kFor:
        AddTargets(cast<For>(statement)->target, names);
        AddAssigned(cast<For>(statement)->body, names);
        break;
      case Kind::kWhile:
        AddAssigned(cast<While>(statement)->body, names);
        break;
      case Kind::kWith:
        for (const WithItem& item : cast<With>(statement)->items) {
          if (item.target) AddTargets(item.target, names);
        }
        AddAssigned(cast<With>(statement)->body, names);
        break;
      case Kind::kFunctionDef:
        names.Add(cast<FunctionDef>(statement)->name);
        break;
      default:
        break;
    }
  }
}

class ExpressionVisitor {
 public:
  explicit ExpressionVisitor(const std::function<void(const Expr&)>& visit) : visit_(visit) {}

  void Visit(StmtList statements) {
    for (const Stmt* statement : statements) Visit(*statement);
  }

 private:
  void Visit(ExprList expressions) {
    for (const Expr* expression : expressions) Visit(expression);
  }

  void Visit(std::span<const Generator> generators) {
    for (const Generator& generator : generators) {
      Visit(generator.target);
      Visit(generator.iter);
      Visit(generator.conditions);
    }
  }

  void Visit(const Stmt& statement) {
    switch (statement.kind) {
      case Kind::kAssign:
        Visit(cast<Assign>(&statement)->value);
        return Visit(cast<Assign>(&statement)->targets);
      case Kind::kAnnAssign:
        Visit(cast<AnnAssign>(&statement)->value);
        return Visit(cast<AnnAssign>(&statement)->target);
      case Kind::kAugAssign:
        Visit(cast<AugAssign>(&statement)->value);
        return Visit(cast<AugAssign>(&statement)->target);
      case Kind::kExprStmt:
        return Visit(cast<ExprStmt>(&statement)->value);
      case Kind::kIf:
        Visit(cast<If>(&statement)->condition);
        Visit(cast<If>(&statement)->body);
        return Visit(cast<If>(&statement)->else_body);
      case Kind::kFor:
        Visit(cast<For>(&statement)->iter);
        Visit(cast<For>(&statement)->target);
        return Visit(cast<For>(&statement)->body);
      case Kind::kWhile:
        Visit(cast<While>(&statement)->condition);
        return Visit(cast<While>(&statement)->body);
      case Kind::kWith:
        for (const WithItem& item : cast<With>(&statement)->items) {
          Visit(item.context);
          Visit(item.target);
        }
        return Visit(cast<With>(&statement)->body);
      case Kind::kReturn:
        return Visit(cast<Return>(&statement)->value);
      case Kind::kRaise:
        Visit(cast<Raise>(&statement)->exception);
        return Visit(cast<Raise>(&statement)->cause);
      case Kind::kAssert:
        Visit(cast<Assert>(&statement)->condition);
        return Visit(cast<Assert>(&statement)->message);
      case Kind::kDelete:
        return Visit(cast<Delete>(&statement)->targets);
      case Kind::kFunctionDef:
        return Visit(cast<FunctionDef>(&statement)->body);
      default:
        return;
    }
  }

  void Visit(const Expr* expression) {
    if (!expression) return;
    visit_(*expression);
    switch (expression->kind) {
      case Kind::kAttribute:
        return Visit(cast<Attribute>(expression)->value);
      case Kind::kSubscript:
        Visit(cast<Subscript>(expression)->value);
        return Visit(cast<Subscript>(expression)->indices);
      case Kind::kSlice:
        Visit(cast<Slice>(expression)->lower);
        Visit(cast<Slice>(expression)->upper);
        return Visit(cast<Slice>(expression)->step);
      case Kind::kCall:
        Visit(cast<Call>(expression)->callee);
        Visit(cast<Call>(expression)->args);
        for (const Keyword& keyword : cast<Call>(expression)->keywords) Visit(keyword.value);
        return;
      case Kind::kList:
        return Visit(cast<List>(expression)->elements);
      case Kind::kTuple:
        return Visit(cast<Tuple>(expression)->elements);
      case Kind::kDict:
        for (const DictItem& item : cast<Dict>(expression)->items) {
          Visit(item.key);
          Visit(item.value);
        }
        return;
      case Kind::kListComp:
        Visit(cast<ListComp>(expression)->generators);
        return Visit(cast<ListComp>(expression)->element);
      case Kind::kDictComp:
        Visit(cast<DictComp>(expression)->generators);
        Visit(cast<DictComp>(expression)->key);
        return Visit(cast<DictComp>(expression)->value);
      case Kind::kUnaryOp:
        return Visit(cast<UnaryOp>(expression)->operand);
      case Kind::kBinOp:
        Visit(cast<BinOp>(expression)->left);
        return Visit(cast<BinOp>(expression)->right);
      case Kind::kBoolOp:
        return Visit(cast<BoolOp>(expression)->values);
      case Kind::kCompare:
        Visit(cast<Compare>(expression)->left);
        for (const Comparison& comparison : cast<Compare>(expression)->comparisons) Visit(comparison.right);
        return;
      case Kind::kTernary:
        Visit(cast<Ternary>(expression)->condition);
        Visit(cast<Ternary>(expression)->if_true);
        return Visit(cast<Ternary>(expression)->if_false);
      case Kind::kStarred:
        return Visit(cast<Starred>(expression)->value);
      case Kind::kJoinedStr:
        return Visit(cast<JoinedStr>(expression)->parts);
      case Kind::kFormattedValue:
        return Visit(cast<FormattedValue>(expression)->value);
      default:
        return;
    }
  }

  const std::function<void(const Expr&)>& visit_;
};

}  // namespace

std::vector<std::string_view> AssignedNames(StmtList statements) {
  NameList names;
  AddAssigned(statements, names);
  return names.Take();
}

std::vector<std::string_view> UsedNames(const FunctionDef& function) {
  NameList names;
  VisitExpressions(function.body, [&](const Expr& expression) {
    if (const auto* name = dyn_cast<Name>(&expression)) names.Add(name->id);
  });
  return names.Take();
}

void VisitExpressions(StmtList statements, const std::function<void(const Expr&)>& visit) {
  ExpressionVisitor(visit).Visit(statements);
}

Exits FindExits(const Stmt& statement) {
  Exits exits;
  switch (statement.kind) {
    case Kind::kReturn:
      exits.may_return = exits.always = true;
      break;
    case Kind::kRaise:
      exits.always = true;
      break;
    case Kind::kBreak:
      exits.may_break = exits.always = true;
      break;
    case Kind::kContinue:
      exits.may_continue = exits.always = true;
      break;
    case Kind::kIf: {
      const Exits then = FindExits(cast<If>(&statement)->body);
      const Exits otherwise = FindExits(cast<If>(&statement)->else_body);
      exits.may_return = then.may_return || otherwise.may_return;
      exits.may_break = then.may_break || otherwise.may_break;
      exits.may_continue = then.may_continue || otherwise.may_continue;
      exits.always = then.always && otherwise.always;
      break;
    }
    case Kind::kFor:
      exits.may_return = FindExits(cast<For>(&statement)->body).may_return;
      break;
    case Kind::kWhile:
      exits.may_return = FindExits(cast<While>(&statement)->body).may_return;
      break;
    case Kind::kWith:
      exits = FindExits(cast<With>(&statement)->body);
      break;
    default:
      break;
  }
  return exits;
}

Exits FindExits(StmtList statements) {
  Exits all;
  for (const Stmt* statement : statements) {
    const Exits one = FindExits(*statement);
    all.may_return |= one.may_return;
    all.may_break |= one.may_break;
    all.may_continue |= one.may_continue;
    if (one.always) {
      all.always = true;
      break;
    }
  }
  return all;
}

namespace {

bool AnyIs(tree::ExprList decorators, std::string_view name) {
  return std::any_of(decorators.begin(), decorators.end(), [&](const tree::Expr* decorator) {
    if (const auto* call = tree::dyn_cast<tree::Call>(decorator)) decorator = call->callee;
    if (const auto* attribute = tree::dyn_cast<tree::Attribute>(decorator)) return attribute->attr == name;
    const auto* plain = tree::dyn_cast<tree::Name>(decorator);
    return plain != nullptr && plain->id == name;
  });
}

}  // namespace

bool HasDecorator(const tree::FunctionDef& function, std::string_view name) { return AnyIs(function.decorators, name); }
bool HasDecorator(const tree::ClassDef& definition, std::string_view name) {
  return AnyIs(definition.decorators, name);
}

bool IsLeftToPython(const tree::FunctionDef& function) {
  return HasDecorator(function, "ignore") || HasDecorator(function, "unused");
}

bool ReturnsEarly(tree::StmtList body) {
  for (const tree::Stmt* statement : body) {
    if (statement->kind == tree::Kind::kReturn) return false;  // what follows is never reached
    if (FindExits(*statement).may_return) return true;
  }
  return false;
}

}  // namespace hearth
