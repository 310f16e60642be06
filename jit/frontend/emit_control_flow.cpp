// If, while, for, with, closures: nested blocks, and the values that leave them.
#include <algorithm>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"

namespace hearth {
namespace {

constexpr const char* kNotInFalseBranch = "is not defined in the false branch of an if";
constexpr const char* kNotInTrueBranch = "is not defined in the true branch of an if";
constexpr const char* kNotSame = "does not name the same thing in both branches of an if";
constexpr const char* kOnlyInLoop = "is defined in a loop, which may not run at all";

// The same function, class or closure under both.
bool SameThing(const SugaredValue& a, const SugaredValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* function = std::get_if<FunctionValue>(&a)) {
    return function->function == std::get<FunctionValue>(b).function;
  }
  if (const auto* type = std::get_if<TypeValue>(&a)) return type->type == std::get<TypeValue>(b).type;
  if (const auto* closure = std::get_if<ClosureValue>(&a)) {
    return closure->definition == std::get<ClosureValue>(b).definition;
  }
  return false;
}

// Finds what a branch bound to a variable; indexed only where there is much.
class ChangeIndex {
 public:
  explicit ChangeIndex(const std::vector<Environment::Change>& changes) : changes_(changes) {
    if (changes.size() <= kFew) return;
    for (const Environment::Change& change : changes) by_id_.emplace(change.id, &change);
  }

  const Environment::Change* Find(Environment::VariableId id) const {
    if (changes_.size() > kFew) {
      const auto found = by_id_.find(id);
      return found == by_id_.end() ? nullptr : found->second;
    }
    for (const Environment::Change& change : changes_) {
      if (change.id == id) return &change;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kFew = 16;
  const std::vector<Environment::Change>& changes_;
  std::unordered_map<Environment::VariableId, const Environment::Change*> by_id_;
};

}  // namespace

Value* Emitter::ToBool(Value* value, const SourceRange& range) {
  if (value->type()->kind() == c10::TypeKind::BoolType) return value;
  if (Value* magic = TryMagicMethod("__bool__", {{value}}, range)) return magic;
  const c10::TypeKind kind = value->type()->kind();
  if (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType || kind == c10::TypeKind::StringType) {
    return CallOperator("aten", "gt", {CallOperator("aten", "len", {value}, range), IntConstant(0)}, range);
  }
  Value* converted = CallOperator("aten", "Bool", {value}, range);
  if (converted->type()->kind() != c10::TypeKind::BoolType) {
    Fail(range, "expected a condition of type bool but found " + converted->type()->annotation_str());
  }
  return converted;
}

Value* Emitter::EmitCondition(const tree::Expr& condition) { return ToBool(EmitExpr(condition), condition.range); }

Emitter::Branch Emitter::EmitBranch(Block* block, const Body& body) {
  const CompileDepth depth(resolver_.compile_depth(), block->owner()->range());
  const InsertionGuard guard(&graph_, block);
  environment_.PushScope();
  body();
  Branch branch{block, {}, {}, {}};
  branch.changes = environment_.PopScope(&branch.refinements);
  return branch;
}

void Emitter::EmitIfElse(Value* condition, const SourceRange& range, const Body& then, const Exits& then_exits,
                         const Body& otherwise, const Exits& otherwise_exits) {
  Node* node = InsertNode(sym::kIf, {{condition}}, 0, range);
  Block* then_block = node->AddBlock();
  Block* else_block = node->AddBlock();
  Branch then_branch = EmitBranch(then_block, then);
  Branch else_branch = EmitBranch(else_block, otherwise);
  then_branch.exits = then_exits;
  else_branch.exits = otherwise_exits;
  Join(node, then_branch, else_branch, range);
}

void Emitter::Join(Node* node, Branch& then, Branch& otherwise, const SourceRange& range) {
  const auto uninitialized = [&](const Branch& branch, const TypePtr& type) {
    const InsertionGuard guard(&graph_, branch.block);
    return Uninitialized(type, range);
  };
  const auto join = [&](Environment::VariableId id, const Environment::Binding& a, const Environment::Binding& b) {
    if (!a.bound() || !b.bound()) {
      const Environment::Binding& defined = a.bound() ? a : b;
      const Branch& lacking = a.bound() ? otherwise : then;
      if (!lacking.exits.always || !defined.bound()) {
        return environment_.Set(id, Unbound{a.bound() ? kNotInFalseBranch : kNotInTrueBranch});
      }
      if (!defined.ssa()) return environment_.Set(id, defined.value);
    } else if (!a.ssa() || !b.ssa()) {
      if (then.unreachable() != otherwise.unreachable()) {
        return environment_.Set(id, then.unreachable() ? b.value : a.value);
      }
      if (SameThing(a.value, b.value)) return environment_.Set(id, a.value);
      return environment_.Set(id, Unbound{kNotSame});
    } else if (a.ssa() == b.ssa()) {
      return environment_.Set(id, a.value, a.declared ? a.declared : b.declared);
    }
    Value* a_value = a.ssa();
    Value* b_value = b.ssa();
    TypePtr type;
    if (!a_value || (then.unreachable() && !otherwise.unreachable())) {
      type = b.type();
      if (!a_value || !IsSubtype(a_value->type(), type)) a_value = uninitialized(then, type);
    } else if (!b_value || (otherwise.unreachable() && !then.unreachable())) {
      type = a.type();
      if (!b_value || !IsSubtype(b_value->type(), type)) b_value = uninitialized(otherwise, type);
    } else {
      const auto unified = c10::unifyTypes(a.type(), b.type(), /*default_to_union=*/true);
      type = unified ? *unified : c10::AnyType::get();
    }
    then.block->AddReturn(a_value);
    otherwise.block->AddReturn(b_value);
    Value* output = node->AddOutput(type);
    const std::string& name = a_value->name().empty() ? b_value->name() : a_value->name();
    if (!name.empty()) output->SetName(name);
    environment_.Set(id, output);
  };
  // What a name is at the end of a branch that does not change it: perhaps more is known there than outside.
  const auto unchanged = [&](Environment::VariableId id, const Branch& branch) {
    const auto refined = std::ranges::find(branch.refinements, id, &Environment::Change::id);
    return refined != branch.refinements.end() ? refined->inside : environment_.Find(id);
  };
  const ChangeIndex in_then(then.changes);
  const ChangeIndex in_otherwise(otherwise.changes);
  for (const Environment::Change& change : then.changes) {
    const Environment::Change* other = in_otherwise.Find(change.id);
    const Environment::Binding outer = other ? other->inside : unchanged(change.id, otherwise);
    join(change.id, change.inside, outer);
  }
  for (const Environment::Change& change : otherwise.changes) {
    if (in_then.Find(change.id)) continue;
    const Environment::Binding outer = unchanged(change.id, then);
    join(change.id, outer, change.inside);
  }
}

Value* Emitter::EmitChoice(Value* condition, const SourceRange& range, const std::function<Value*()>& then,
                           const std::function<Value*()>& otherwise) {
  Node* node = InsertNode(sym::kIf, {{condition}}, 0, range);
  Value* values[2];
  const std::function<Value*()>* const bodies[2] = {&then, &otherwise};
  for (int i = 0; i < 2; ++i) {
    Block* block = node->AddBlock();
    EmitBranch(block, [&] { values[i] = (*bodies[i])(); });
    block->AddReturn(values[i]);
  }
  const auto type = c10::unifyTypes(values[0]->type(), values[1]->type(), /*default_to_union=*/true);
  return node->AddOutput(type ? *type : c10::AnyType::get());
}

void Emitter::EmitIf(const tree::If& statement, tree::StmtList rest) {
  const auto followed = [](tree::StmtList body, tree::StmtList rest) {
    std::vector<const tree::Stmt*> all(body.begin(), body.end());
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  if (const std::optional<bool> decided = DecideCondition(*statement.condition)) {
    return EmitStatements(followed(*decided ? statement.body : statement.else_body, rest));
  }
  const Exits then = FindExits(statement.body);
  const Exits otherwise = FindExits(statement.else_body);
  Value* condition = EmitCondition(*statement.condition);
  // Where exactly one branch leaves for good, what follows belongs to the other one.
  const bool into_then = !rest.empty() && otherwise.always && !then.always;
  const bool into_else = !rest.empty() && then.always && !otherwise.always;
  const auto emit = [&](tree::StmtList body, bool outcome, bool with_rest) {
    Refine(*statement.condition, outcome);
    if (with_rest) return EmitStatements(followed(body, rest));
    EmitStatements(body);
  };
  EmitIfElse(
      condition, statement.range, [&] { emit(statement.body, true, into_then); }, then,
      [&] { emit(statement.else_body, false, into_else); }, otherwise);
  if (then.always != otherwise.always) Refine(*statement.condition, otherwise.always);
  if (rest.empty() || into_then || into_else || (then.always && otherwise.always)) return;
  EmitGuarded(rest, statement.range);
}

void Emitter::EmitPlainLoop(Value* max_trip, Value* start, const std::vector<std::string_view>& assigned,
                            const SourceRange& range, const std::function<Value*(Value*)>& body) {
  struct Carried {
    Environment::VariableId id;
    TypePtr type;
    Value* param;
  };
  std::vector<Carried> carried;
  std::vector<Environment::VariableId> local;
  std::vector<Value*> inputs{max_trip, start};
  for (const std::string_view name : assigned) {
    const Environment::VariableId id = environment_.Id(name);
    const Environment::Binding& binding = environment_.Find(id);
    if (Value* value = binding.ssa()) {
      carried.push_back({id, binding.type(), nullptr});
      inputs.push_back(value);
    } else if (!binding.bound()) {
      local.push_back(id);
    }
  }
  const CompileDepth depth(resolver_.compile_depth(), range);
  Node* loop = InsertNode(sym::kLoop, inputs, 0, range);
  Block* block = loop->AddBlock();
  {
    const InsertionGuard guard(&graph_, block);
    environment_.PushScope();
    Value* round = block->AddParam(c10::IntType::get());
    for (size_t i = 0; i < carried.size(); ++i) {
      Carried& one = carried[i];
      one.param = block->AddParam(one.type);
      if (!inputs[i + 2]->name().empty()) one.param->SetName(inputs[i + 2]->name());
      environment_.Set(one.id, one.param, one.type);
    }
    block->AddReturn(body(round));
    for (const Carried& one : carried) {
      Value* value = environment_.Find(one.id).ssa();
      const std::string what = "variable '" + std::string(environment_.Name(one.id)) + "', assigned in a loop,";
      if (!value) Fail(range, what + " is not a value at the end of the loop's body");
      block->AddReturn(ConvertTo(value, one.type, range, what.c_str()));
    }
    environment_.PopScope();
  }
  for (const Carried& one : carried) {
    Value* output = loop->AddOutput(one.type);
    if (!one.param->name().empty()) output->SetName(one.param->name());
    environment_.Set(one.id, output, one.type);
  }
  for (const Environment::VariableId id : local) environment_.Set(id, Unbound{kOnlyInLoop});
}

void Emitter::EmitWith(const tree::With& statement, size_t item) {
  if (item == statement.items.size()) return EmitStatements(statement.body);
  const tree::WithItem& entered = statement.items[item];
  const SourceRange& range = entered.context->range;
  Value* manager = EmitExpr(*entered.context);
  const auto* type = manager->type()->castRaw<c10::ClassType>();
  torch::jit::Function* enter = type ? FindMethod(*type, "__enter__") : nullptr;
  if (!enter || !FindMethod(*type, "__exit__")) {
    Fail(range, "a with statement needs an object with methods __enter__ and __exit__, but this is of type " +
                    manager->type()->annotation_str());
  }
  enter->ensure_defined();  // what it returns may be inferred
  const auto& returns = enter->getSchema().returns();
  Node* node = InsertNode(sym::kWith, {{manager}}, 0, statement.range);
  Block* block = node->AddBlock();
  Value* value = block->AddParam(returns.empty() ? TypePtr(c10::NoneType::get()) : returns.front().type());
  Branch branch = EmitBranch(block, [&] {
    if (entered.target) AssignTo(*entered.target, value, range);
    EmitWith(statement, item + 1);
  });
  for (const Environment::Change& change : branch.changes) {
    Value* inside = change.inside.ssa();
    if (!inside) {
      environment_.Set(change.id, change.inside.value);
      continue;
    }
    block->AddReturn(inside);
    Value* output = node->AddOutput(inside->type());
    if (!inside->name().empty()) output->SetName(inside->name());
    environment_.Set(change.id, output, change.inside.declared);
  }
}

SugaredValue Emitter::EmitClosure(const tree::FunctionDef& definition, Symbol kind, const SourceRange& range) {
  if (!definition.parameters.empty()) {
    Fail(range, "a function that is defined within a function cannot have parameters here");
  }
  std::vector<std::pair<Environment::VariableId, Value*>> captured;
  std::vector<Value*> inputs;
  for (const std::string_view name : UsedNames(definition)) {
    const Environment::Binding* binding = environment_.Find(name);
    if (!binding || !binding->ssa()) continue;
    captured.emplace_back(environment_.Id(name), binding->ssa());
    inputs.push_back(binding->ssa());
  }
  Node* node = InsertNode(kind, inputs, 1, range);
  Block* block = node->AddBlock();
  const TypePtr outer_return_type = std::exchange(return_type_, nullptr);
  Value* const outer_result = std::exchange(result_, nullptr);
  const bool outer_early_returns = std::exchange(early_returns_, false);
  const bool outer_upgrades = std::exchange(resolver_.upgrades(), false);
  const std::vector<LoopExits> outer_loops = std::exchange(loops_, {});
  if (definition.returns) return_type_ = resolver_.ResolveType(*definition.returns);
  pools_.emplace_back(block);
  TypePtr type;
  EmitBranch(block, [&] {
    for (const auto& [id, value] : captured) {
      Value* param = block->AddParam(value->type());
      if (!value->name().empty()) param->SetName(value->name());
      environment_.Set(id, param);
    }
    DeclareExits(definition.body, range);
    EmitStatements(definition.body);
    Value* result = early_returns_ ? environment_.Find("$result")->ssa() : result_;
    if (!result) result = NoneConstant();
    if (return_type_) result = ConvertTo(result, return_type_, range, "the function's return value");
    type = result->type();
    block->AddReturn(result);
  });
  pools_.pop_back();
  return_type_ = outer_return_type;
  result_ = outer_result;
  early_returns_ = outer_early_returns;
  resolver_.upgrades() = outer_upgrades;
  loops_ = outer_loops;
  if (kind == sym::kFork) {
    node->output()->SetType(c10::FutureType::create(std::move(type)));
  } else {
    node->output()->SetType(c10::AwaitType::create(std::move(type)));
  }
  return node->output();
}

}  // namespace hearth
