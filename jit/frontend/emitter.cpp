#include "jit/frontend/emitter.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "jit/definitions/node_effects.h"
#include "jit/frontend/conversions.h"
#include "jit/ir/symbols.h"
#include "jit/ir/type_size.h"

namespace hearth {

namespace {

// Whether neither the node nor what uses it does anything but compute. `seen` holds what is known to.
bool IsIdle(const Node& node, std::unordered_set<const Node*>* seen) {
  if (!seen->insert(&node).second) return true;
  if (!node.blocks().empty() || node.outputs().empty()) return false;
  const bool constructs = node.kind() == sym::kListConstruct || node.kind() == sym::kTupleConstruct;
  const OperatorEffects effects = node.op() ? EffectsOf(*node.op()) : OperatorEffects();
  const bool computes = node.op() && !effects.writes && !effects.has_side_effect;
  if (!constructs && !computes) return false;
  return std::ranges::all_of(node.outputs(), [&](const Value* output) {
    return std::ranges::all_of(output->uses(), [&](const Use& use) { return IsIdle(*use.user, seen); });
  });
}

void DestroyWithUsers(Node* node) {
  for (Value* output : node->outputs()) {
    while (output->HasUses()) DestroyWithUsers(output->uses().front().user);
  }
  node->Destroy();
}

// As in torch.jit, random numbers that nothing uses are not drawn: those that follow would be other ones.
void RemoveUnusedDraws(Block* block) {
  for (Node* node = block->return_node()->prev(); node != block->param_node();) {
    for (Block* inner : node->blocks()) RemoveUnusedDraws(inner);
    std::unordered_set<const Node*> seen;
    const bool draws = node->op() && EffectsOf(*node->op()).nondeterministic && IsIdle(*node, &seen);
    Node* const before = node->prev();
    if (draws) DestroyWithUsers(node);
    node = before;
  }
}

}  // namespace

void Emitter::Begin(const tree::FunctionDef& definition, const c10::FunctionSchema& schema) {
  pools_.emplace_back(graph_.block());
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    Value* input = graph_.AddInput(argument.type(), argument.name());
    environment_.Set(environment_.Id(definition.parameters[i].name), input);
  }
  if (resolver_.written() && definition.name == "__init__" && !schema.arguments().empty()) {
    initialized_ = schema.arguments().front().type()->cast<c10::ClassType>();
  }
  DeclareExits(definition.body, definition.name_range);
}

TypePtr Emitter::InferReturnType(const tree::FunctionDef& definition, const c10::FunctionSchema& schema) {
  infers_ = true;
  Begin(definition, schema);
  EmitStatements(definition.body);
  if (!FindExits(definition.body).always && inferred_->kind() != c10::TypeKind::NoneType) {
    Fail(definition.name_range, "function does not return along all paths");
  }
  return inferred_;
}

TypePtr Emitter::EmitFunction(const tree::FunctionDef& definition, const c10::FunctionSchema& schema) {
  if (!schema.returns().empty()) return_type_ = schema.returns().front().type();
  Begin(definition, schema);
  EmitStatements(definition.body);

  Value* result = result_;
  if (early_returns_) {
    result = environment_.Find("$result")->ssa();
    if (!FindExits(definition.body).always && return_type_->kind() != c10::TypeKind::NoneType &&
        return_type_->kind() != c10::TypeKind::OptionalType) {
      Fail(definition.name_range, "function does not return along all paths");
    }
  }
  if (!result) {
    const bool raises = FindExits(definition.body).always;
    if (return_type_ && raises) {
      result = Uninitialized(return_type_, definition.name_range);
    } else {
      result = NoneConstant();
    }
  }
  if (return_type_) {
    result = ConvertTo(result, return_type_, definition.name_range, "the function's return value");
  } else {
    return_type_ = result->type();
  }
  graph_.block()->AddReturn(result);
  RemoveUnusedDraws(graph_.block());
  return return_type_;
}

Value* Emitter::InsertPooled(c10::IValue value, TypePtr type) {
  ConstantPool& pool = pools_.back();
  Node* node = graph_.Create(sym::kConstant, {}, 1);
  node->SetRange(graph_.current_range());
  node->output()->SetType(std::move(type));
  node->SetAttribute(sym::kValueAttr, std::move(value));
  node->InsertAfter(pool.last);
  pool.last = node;
  return node->output();
}

Value* Emitter::IntConstant(int64_t value) {
  Value*& pooled = pools_.back().ints[value];
  if (!pooled) pooled = InsertPooled(value, c10::IntType::get());
  return pooled;
}

Value* Emitter::BoolConstant(bool value) {
  Value*& pooled = pools_.back().bools[value ? 1 : 0];
  if (!pooled) pooled = InsertPooled(value, c10::BoolType::get());
  return pooled;
}

Value* Emitter::FloatConstant(double value) {
  Value*& pooled = pools_.back().floats[std::bit_cast<uint64_t>(value)];
  if (!pooled) pooled = InsertPooled(value, c10::FloatType::get());
  return pooled;
}

Value* Emitter::NoneConstant() {
  Value*& pooled = pools_.back().none;
  if (!pooled) pooled = InsertPooled(c10::IValue(), c10::NoneType::get());
  return pooled;
}

Value* Emitter::StringConstant(std::string_view value) {
  const auto found = pools_.back().strings.find(value);
  if (found != pools_.back().strings.end()) return found->second;
  Value* pooled = InsertPooled(std::string(value), c10::StringType::get());
  // The key must outlive the pool, as the text in the node does.
  const auto& text = pooled->node()->attribute<c10::IValue>(sym::kValueAttr).toStringRef();
  pools_.back().strings.emplace(text, pooled);
  return pooled;
}

Value* Emitter::InsertConstant(c10::IValue value, TypePtr type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      return IntConstant(value.toInt());
    case c10::TypeKind::BoolType:
      return BoolConstant(value.toBool());
    case c10::TypeKind::FloatType:
      return FloatConstant(value.toDouble());
    case c10::TypeKind::NoneType:
      return NoneConstant();
    case c10::TypeKind::StringType:
      return StringConstant(value.toStringRef());
    default:
      return InsertPooled(std::move(value), std::move(type));
  }
}

Value* Emitter::DefaultConstant(const c10::IValue& default_value, const TypePtr& type) {
  if (default_value.isInt()) return IntConstant(default_value.toInt());
  if (default_value.isBool()) return BoolConstant(default_value.toBool());
  if (default_value.isDouble()) return FloatConstant(default_value.toDouble());
  if (default_value.isNone()) return NoneConstant();
  if (default_value.isString()) return StringConstant(default_value.toStringRef());
  const auto [found, is_new] = pools_.back().by_identity.try_emplace(&default_value, nullptr);
  if (is_new) found->second = InsertPooled(default_value, type);
  return found->second;
}

Value* Emitter::Uninitialized(const TypePtr& type, const SourceRange& range) {
  return Insert(sym::kUninitialized, {}, type, range);
}

Node* Emitter::InsertNode(Symbol kind, std::span<Value* const> inputs, size_t num_outputs, const SourceRange& range) {
  Node* node = graph_.Create(kind, inputs, num_outputs);
  node->SetRange(range);
  return graph_.Insert(node);
}

Value* Emitter::Insert(Symbol kind, std::initializer_list<Value*> inputs, TypePtr type, const SourceRange& range) {
  return InsertConstruct(kind, std::span<Value* const>(inputs.begin(), inputs.size()), std::move(type), range);
}

Value* Emitter::InsertConstruct(Symbol kind, std::span<Value* const> inputs, TypePtr type, const SourceRange& range) {
  RequireTypeSize(*type);
  Value* output = InsertNode(kind, inputs, 1, range)->output();
  output->SetType(std::move(type));
  return output;
}

Value* Emitter::AsValue(const SugaredValue& value, const SourceRange& range) {
  if (Value* const* ssa = std::get_if<Value*>(&value)) return *ssa;
  if (const auto* results = std::get_if<ResultsValue>(&value)) {
    if (results->values.empty()) return NoneConstant();
    std::vector<TypePtr> types;
    for (Value* result : results->values) types.push_back(result->type());
    std::vector<std::string> names;
    if (results->schema) {
      for (const c10::Argument& returned : results->schema->returns()) names.push_back(returned.name());
    }
    const bool all_named = !names.empty() && std::none_of(names.begin(), names.end(),
                                                          [](const std::string& name) { return name.empty(); });
    TypePtr type;
    if (all_named) {
      type = c10::TupleType::createNamed(std::nullopt, names, types);
    } else {
      type = c10::TupleType::create(std::move(types));
    }
    return InsertConstruct(sym::kTupleConstruct, results->values, std::move(type), range);
  }
  Fail(range, std::string(Describe(value)) + " cannot be used as a value");
}

Value* Emitter::ConvertTo(Value* value, const TypePtr& type, const SourceRange& range, const char* what) {
  if (value->type().get() == type.get()) return value;
  const bool is_empty_list = IsEmptyListLiteral(value);
  const TypePtr converted = ConvertedType(value->type(), type, is_empty_list, true);
  if (!IsSubtype(converted, type)) {
    std::ostringstream reason;
    value->type()->isSubtypeOfExt(*type, &reason);
    std::string message = std::string(what) + " was expected to be of type " + type->annotation_str() +
                          " but is of type " + value->type()->annotation_str();
    if (!reason.str().empty()) message += ": " + reason.str();
    Fail(range, message);
  }
  return Convert(graph_, range, value, type, is_empty_list, true);
}

std::vector<Value*> Emitter::UnpackTuple(Value* tuple, const SourceRange& range) {
  if (tuple->node()->kind() == sym::kTupleConstruct) {
    return {tuple->node()->inputs().begin(), tuple->node()->inputs().end()};
  }
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  Node* node = InsertNode(sym::kTupleUnpack, {{tuple}}, elements.size(), range);
  for (size_t i = 0; i < elements.size(); ++i) node->output(i)->SetType(elements[i]);
  return {node->outputs().begin(), node->outputs().end()};
}

bool Emitter::IsEmptyListLiteral(const Value* value) const {
  return !empty_lists_.empty() && !value->HasUses() &&
         std::find(empty_lists_.begin(), empty_lists_.end(), value) != empty_lists_.end();
}

}  // namespace hearth
