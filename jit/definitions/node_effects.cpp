#include "jit/definitions/node_effects.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

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

bool HasStatistics(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (IsStatistics(argument)) return true;
  }
  return false;
}

// They may give back an argument, or a view of it, and their schemas do not say so.
bool AliasesUnannounced(Symbol symbol) {
  static constexpr std::string_view kAten[] = {"dropout",
                                               "feature_dropout",
                                               "alpha_dropout",
                                               "feature_alpha_dropout",
                                               "native_dropout",
                                               "rrelu",
                                               "broadcast_tensors",
                                               "meshgrid",
                                               "einsum",
                                               "align_tensors",
                                               "cartesian_prod",
                                               "combinations",
                                               "block_diag",
                                               "linalg_multi_dot",
                                               "chain_matmul",
                                               "atleast_1d",
                                               "atleast_2d",
                                               "atleast_3d",
                                               "type_as",
                                               "sum_to_size",
                                               "pad",
                                               "rot90",
                                               "to_dense",
                                               "to_mkldnn",
                                               "to_sparse",
                                               "to_sparse_csr",
                                               "to_sparse_csc",
                                               "to_sparse_bsr",
                                               "to_sparse_bsc",
                                               "dequantize",
                                               "quantize_per_tensor",
                                               "conj_physical",
                                               "pin_memory",
                                               "data",
                                               "grad",
                                               "wait",
                                               "_unsafe_view",
                                               "flatten_dense_tensors",
                                               "channel_shuffle",
                                               "_cast_Byte",
                                               "_cast_Char",
                                               "_cast_Short",
                                               "_cast_Int",
                                               "_cast_Long",
                                               "_cast_Half",
                                               "_cast_Float",
                                               "_cast_Double"};
  static constexpr std::string_view kPrim[] = {"data", "grad", "awaitable_wait", "awaitable_nowait"};
  static const std::unordered_set<Symbol> kSymbols = [] {
    std::unordered_set<Symbol> symbols;
    for (std::string_view name : kAten) symbols.insert(Symbol::fromQualString("aten::" + std::string(name)));
    for (std::string_view name : kPrim) symbols.insert(Symbol::fromQualString("prim::" + std::string(name)));
    return symbols;
  }();
  return kSymbols.count(symbol) != 0;
}

// manual_seed of the process; the one that is given a Generator writes that.
bool SeedsGenerators(const Operator& op) {
  static const Symbol kManualSeed = Symbol::fromQualString("aten::manual_seed");
  return op.symbol() == kManualSeed && !AnnouncesAnyWrite(op.schema());
}

// They answer by the thread's mode, so they are not run while compiling, but they change nothing.
bool OnlyReadsMode(Symbol symbol) {
  static const std::unordered_set<Symbol> kSymbols = {
      Symbol::fromQualString("aten::is_grad_enabled"), Symbol::fromQualString("prim::is_grad_enabled"),
      Symbol::fromQualString("aten::is_autocast_enabled"), Symbol::fromQualString("aten::is_autocast_cpu_enabled"),
      Symbol::fromQualString("aten::initial_seed")};
  return kSymbols.count(symbol) != 0;
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

NodeEffects EffectsOf(const Node& node) {
  NodeEffects effects;
  if (const Operator* op = node.op()) {
    const OperatorEffects& known = op->effects();
    effects.raises = node.kind() == sym::kRaiseException;
    effects.acts = known.has_side_effect && !effects.raises && !OnlyReadsMode(node.kind());
    effects.writes = known.writes;
    effects.random = known.nondeterministic;
    effects.seeds = SeedsGenerators(*op);
    if (effects.writes && !AnnouncesAnyWrite(op->schema()) && IsConstantlyEvaluating(node)) effects.writes = false;
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
  static const std::unordered_set<Symbol> kSymbols = [] {
    std::unordered_set<Symbol> symbols;
    for (const char* name :
         {"aten::size", "aten::dim", "aten::numel", "aten::len", "aten::is_contiguous", "aten::is_floating_point",
          "aten::is_complex", "prim::dtype", "prim::device", "prim::layout", "prim::is_cuda", "prim::is_cpu"}) {
      symbols.insert(Symbol::fromQualString(name));
    }
    return symbols;
  }();
  return kSymbols.count(kind) != 0;
}

bool MayThrow(const Node& node) {
  static const std::unordered_set<Symbol> kHarmless = [] {
    std::unordered_set<Symbol> symbols;
    for (const char* name : {"aten::dim",
                             "aten::size",
                             "aten::len",
                             "aten::numel",
                             "aten::is_floating_point",
                             "aten::is_complex",
                             "aten::eq",
                             "aten::ne",
                             "aten::lt",
                             "aten::le",
                             "aten::gt",
                             "aten::ge",
                             "aten::__not__",
                             "aten::__is__",
                             "aten::__isnot__",
                             "aten::add",
                             "aten::sub",
                             "aten::mul",
                             "aten::neg",
                             "aten::str",
                             "aten::__range_length",
                             "aten::__derive_index",
                             "aten::detach",
                             "prim::dtype",
                             "prim::device",
                             "prim::layout",
                             "prim::is_cuda",
                             "prim::type",
                             "prim::min",
                             "prim::max",
                             "prim::NumToTensor"}) {
      symbols.insert(Symbol::fromQualString(name));
    }
    return symbols;
  }();
  const Symbol kind = node.kind();
  if (node.op() == nullptr) return kind == sym::kListUnpack || kind == sym::kToList;
  if (kHarmless.count(kind) == 0) return true;
  // Of tensors, and with them of dimensions that there may not be, only what asks a question without one.
  const bool plain = std::ranges::none_of(node.inputs(), [](const Value* input) { return HasMemory(*input->type()); });
  if (plain) return false;
  if (node.inputs().size() > 1) return true;
  // An empty list has no least element, a tensor may have no dimension, and one of bools is not negated.
  static const Symbol kNeedElements[] = {Symbol::fromQualString("prim::min"), Symbol::fromQualString("prim::max")};
  static const Symbol kNotOfTensors[] = {Symbol::fromQualString("aten::len"), Symbol::fromQualString("aten::neg")};
  return std::ranges::find(kNeedElements, kind) != std::end(kNeedElements) ||
         (std::ranges::find(kNotOfTensors, kind) != std::end(kNotOfTensors) &&
          node.input()->type()->kind() == c10::TypeKind::TensorType);
}

bool MayRecordGradients(const Block& block) {
  static const std::unordered_set<Symbol> kSymbols = {Symbol::fromQualString("aten::set_grad_enabled"),
                                                      Symbol::fromQualString("aten::grad"),
                                                      Symbol::fromQualString("aten::backward")};
  for (const Node* node : block) {
    if (kSymbols.count(node->kind()) != 0 || node->kind() == sym::kWith || EffectsOf(*node).calls) return true;
    for (const Block* nested : node->blocks()) {
      if (MayRecordGradients(*nested)) return true;
    }
  }
  return false;
}

bool OutputMayAliasInput(const Node& node, size_t output, size_t input) {
  const Operator* op = node.op();
  if (op == nullptr) return false;
  // A container that an operator makes (a slice of a list, a dict's items) holds what another one holds.
  if (HoldsMemory(*node.output(output)->type()) || AliasesUnannounced(op->symbol())) return true;
  if (!op->effects().may_alias) return false;
  const c10::FunctionSchema& schema = op->schema();
  bool annotated = false;
  for (const c10::Argument& argument : schema.arguments()) annotated |= argument.alias_info() != nullptr;
  return !annotated || input >= schema.arguments().size() || schema.arguments()[input].alias_info() != nullptr;
}

}  // namespace hearth
