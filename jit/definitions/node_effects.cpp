#include "jit/definitions/node_effects.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/definitions/definition.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

bool Announces(const c10::AliasInfo& alias) {
  if (alias.isWrite()) return true;
  for (const c10::AliasInfo& contained : alias.containedTypes()) {
    if (Announces(contained)) return true;
  }
  return false;
}

bool AnnouncesWrite(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && Announces(*argument.alias_info());
}

bool AnnouncesAnyWrite(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (AnnouncesWrite(argument)) return true;
  }
  return false;
}

// The input at the argument of one of these names, if it is a constant.
const c10::IValue* ConstantArgument(const Node& node, std::initializer_list<std::string_view> names) {
  const std::vector<c10::Argument>& arguments = node.op()->schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    for (std::string_view name : names) {
      if (arguments[i].name() == name) return ConstantOf(*node.input(i));
    }
  }
  return nullptr;
}

bool IsConstantlyEvaluating(const Node& node) {
  const c10::IValue* flag = ConstantArgument(node, {"training", "train", "use_input_stats"});
  return flag != nullptr && flag->isBool() && !flag->toBool();
}

bool DropsNothing(const Node& node) {
  const c10::IValue* probability = ConstantArgument(node, {"dropout_p", "dropout", "p"});
  return probability != nullptr && probability->isDouble() && probability->toDouble() == 0;
}

bool IsStatistics(const c10::Argument& argument) {
  return argument.name() == "running_mean" || argument.name() == "running_var";
}

// A norm that keeps no running statistics has none to write, whatever it is told of training.
bool LacksStatistics(const Node& node) {
  const std::vector<c10::Argument>& arguments = node.op()->schema().arguments();
  bool has_operands = false;
  for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    if (!IsStatistics(arguments[i])) continue;
    has_operands = true;
    if (node.input(i)->type()->kind() != c10::TypeKind::NoneType) return false;
  }
  return has_operands;
}

bool HasStatistics(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (IsStatistics(argument)) return true;
  }
  return false;
}

// Whether a value of this type may hold other values that have memory.
bool HoldsMemory(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return false;
  if (type.kind() != c10::TypeKind::ListType && type.kind() != c10::TypeKind::DictType) return HasMemory(type);
  for (const TypePtr& contained : type.containedTypes()) {
    if (HasMemory(*contained)) return true;
  }
  return false;
}

}  // namespace

bool HasMemory(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::EnumType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::FunctionType:
      return false;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::TupleType:
      for (const TypePtr& contained : type.containedTypes()) {
        if (HasMemory(*contained)) return true;
      }
      return false;
    default:
      return true;
  }
}

const c10::IValue* ConstantOf(const Value& value) {
  const Node& node = *value.node();
  return node.kind() == sym::kConstant ? &node.attribute<c10::IValue>(sym::kValueAttr) : nullptr;
}

OperatorEffects EffectsOf(const Operator& op) {
  OperatorEffects effects = op.announced_effects();
  const OperatorDefinition& definition = DefinitionOf(op.symbol());
  effects.writes |= definition.hides_writes;
  effects.has_side_effect |= definition.acts || definition.reads_mode;
  return effects;
}

bool IsPure(const Operator& op) {
  const OperatorEffects effects = EffectsOf(op);
  return !effects.writes && !effects.nondeterministic && !effects.has_side_effect;
}

NodeEffects EffectsOf(const Node& node) {
  NodeEffects effects;
  if (const Operator* op = node.op()) {
    const OperatorDefinition& definition = DefinitionOf(op->symbol());
    const OperatorEffects known = EffectsOf(*op);
    effects.raises = node.kind() == sym::kRaiseException;
    effects.acts = known.has_side_effect && !effects.raises && !definition.reads_mode;
    effects.writes = known.writes;
    effects.random = known.nondeterministic;
    // The one that is given a generator writes that.
    effects.seeds = definition.seeds && !AnnouncesAnyWrite(op->schema());
    const bool hides_writes = effects.writes && !AnnouncesAnyWrite(op->schema());
    if (hides_writes && (IsConstantlyEvaluating(node) || LacksStatistics(node))) effects.writes = false;
    if (effects.random && (IsConstantlyEvaluating(node) || DropsNothing(node))) effects.random = false;
    return effects;
  }
  const Symbol kind = node.kind();
  effects.writes = kind == sym::kSetAttr;
  effects.raises = kind == sym::kRaiseException;
  effects.calls = kind == sym::kCallFunction || kind == sym::kCallMethod || kind == sym::kWith;
  return effects;
}

bool WritesInput(const Node& node, size_t i) {
  if (node.op() == nullptr) return node.kind() == sym::kSetAttr && i == 0;
  if (!EffectsOf(node).writes || !HasMemory(*node.input(i)->type())) return false;
  const c10::FunctionSchema& schema = node.op()->schema();
  if (i >= schema.arguments().size()) return true;
  const c10::Argument& argument = schema.arguments()[i];
  if (AnnouncesWrite(argument)) return true;
  if (AnnouncesAnyWrite(schema)) return false;
  return HasStatistics(schema) ? IsStatistics(argument) : true;
}

bool ReadsShapeOnly(Symbol kind) {
  return kind == c10::aten::len || DefinitionOf(kind).kind == OperatorClass::kTensorQuery;
}

bool MayThrow(const Node& node) {
  if (node.op() == nullptr) return node.kind() == sym::kListUnpack || node.kind() == sym::kToList;
  const Raises raises = DefinitionOf(node.kind()).raises;
  if (raises == Raises::kPerhaps) return true;
  if (std::ranges::none_of(node.inputs(), [](const Value* input) { return HasMemory(*input->type()); })) return false;
  if (raises == Raises::kNotOnNumbers || node.inputs().size() > 1) return true;
  return raises == Raises::kNotOnContainers && node.input()->type()->kind() == c10::TypeKind::TensorType;
}

bool MayRecordGradients(const Block& block) {
  for (const Node* node : block) {
    if (DefinitionOf(node->kind()).records_gradients || node->kind() == sym::kWith || EffectsOf(*node).calls)
      return true;
    for (const Block* nested : node->blocks()) {
      if (MayRecordGradients(*nested)) return true;
    }
  }
  return false;
}

namespace {

// Which gives new memory: of one tensor einsum may give a view.
bool IsEinsumOfSeveral(const Node& node) {
  if (node.kind() != c10::aten::einsum || node.inputs().size() < 2) return false;
  const Node& operands = *node.input(1)->node();
  return operands.kind() == sym::kListConstruct && operands.inputs().size() > 1 &&
         operands.output()->uses().size() == 1;
}

}  // namespace

bool OutputMayAliasInput(const Node& node, size_t output, size_t input) {
  const Operator* op = node.op();
  if (op == nullptr || IsEinsumOfSeveral(node)) return false;
  // A container that an operator makes (a slice of a list, a dict's items) holds what another one holds.
  if (HoldsMemory(*node.output(output)->type()) || DefinitionOf(op->symbol()).hides_aliases) return true;
  if (!op->announced_effects().may_alias) return false;
  const c10::FunctionSchema& schema = op->schema();
  bool annotated = false;
  for (const c10::Argument& argument : schema.arguments()) annotated |= argument.alias_info() != nullptr;
  return !annotated || input >= schema.arguments().size() || schema.arguments()[input].alias_info() != nullptr;
}

}  // namespace hearth
