#include "jit/analysis/pure_forks.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/definitions/node_effects.h"
#include "jit/ir/contains.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// What the interpreter defines and a pure body may have, beside forks and operators.
bool IsPlain(Symbol kind) {
  static const std::unordered_set<Symbol> kSymbols = {
      sym::kConstant,       sym::kIf,         sym::kLoop,       sym::kListConstruct,  sym::kListUnpack,
      sym::kTupleConstruct, sym::kTupleIndex, sym::kTupleSlice, sym::kTupleUnpack,    sym::kDictConstruct,
      sym::kUncheckedCast,  sym::kToList,     sym::kIsInstance, sym::kRaiseException, sym::kUninitialized};
  return kSymbols.count(kind) != 0;
}

bool MayHoldFuture(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::FutureType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return true;
    default:
      return std::ranges::any_of(type.containedTypes(), [](const TypePtr& held) { return MayHoldFuture(*held); });
  }
}

// Whether an operator that gives a future gives one that it was given, alone or in a container.
bool HandsOn(const Node& node) {
  for (size_t output = 0; output < node.outputs().size(); ++output) {
    for (size_t input = 0; input < node.inputs().size(); ++input) {
      if (OutputMayAliasInput(node, output, input)) return true;
    }
  }
  return false;
}

}  // namespace

PureForks::PureForks(const Graph& graph, const WrittenMemory& memory)
    : aliases_(memory.aliases()), unknown_(aliases_.bound()) {
  for (const Value* input : graph.inputs()) MarkUnknown(*input);
  FindFutures(*graph.block());
  if (forks_.empty() || hearth::Contains(*graph.block(), sym::kStateStep) || MayRecordGradients(*graph.block())) return;
  for (size_t id = 0; id < aliases_.bound(); ++id) {
    const AliasClasses::Facts& facts = aliases_.FactsOf(id);
    const bool outside = facts.state || facts.argument || facts.called;
    writes_outside_ |= outside && facts.written;
  }
  // One that is not makes those that wait for it impure.
  pure_.insert(forks_.begin(), forks_.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node* fork : forks_) {
      if (pure_.count(fork) == 0 || IsPureBody(*fork->block(0))) continue;
      pure_.erase(fork);
      unknown_[aliases_.ClassOf(*fork->output())] = true;
      changed = true;
    }
  }
  for (const Node* wait : waits_) {
    if (IsPureWait(*wait)) pure_.insert(wait);
  }
}

void PureForks::FindFutures(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == sym::kFork) forks_.push_back(node);
    if (node->kind() == c10::aten::wait) waits_.push_back(node);
    const bool brings = node->op() != nullptr
                            ? !HandsOn(*node)
                            : EffectsOf(*node).calls || node->kind() == sym::kGetAttr || node->kind() == sym::kConstant;
    if (brings) {
      for (const Value* output : node->outputs()) MarkUnknown(*output);
    }
    for (const Block* inner : node->blocks()) FindFutures(*inner);
  }
}

// A future that comes from elsewhere.
void PureForks::MarkUnknown(const Value& value) {
  const size_t alias_class = aliases_.ClassOf(value);
  if (alias_class == AliasClasses::kNoMemory || !MayHoldFuture(*value.type())) return;
  aliases_.ForEachReachable(alias_class, [&](size_t reached) { unknown_[reached] = true; });
}

bool PureForks::IsPureBody(const Block& body) const {
  if (!std::ranges::all_of(body.params(), [&](const Value* param) { return IsSteady(*param); })) return false;
  return !AnyNode(body, [&](const Node& node) { return !MayBeInPureBody(node); });
}

bool PureForks::MayBeInPureBody(const Node& node) const {
  if (node.kind() == sym::kFork) return pure_.count(&node) != 0;
  if (node.kind() == c10::aten::wait) return IsPureWait(node);
  if (node.kind() == sym::kConstant) return IsSteady(*node.output());
  if (node.op() == nullptr) return IsPlain(node.kind());
  const NodeEffects effects = EffectsOf(node);
  const bool acts = EffectsOf(*node.op()).has_side_effect && !effects.raises;
  return !acts && !effects.random && !effects.seeds && !effects.calls && node.attributes().empty();
}

bool PureForks::IsPureWait(const Node& wait) const {
  const size_t alias_class = aliases_.ClassOf(*wait.input(0));
  return alias_class != AliasClasses::kNoMemory && !unknown_[alias_class];
}

bool PureForks::IsSteady(const Value& value) const {
  bool steady = true;
  aliases_.ForEachReachable(aliases_.ClassOf(value), [&](size_t reached) {
    const AliasClasses::Facts& facts = aliases_.FactsOf(reached);
    const bool outside = facts.state || facts.argument || facts.called;
    steady &= !facts.written && !(outside && writes_outside_);
  });
  return steady;
}

}  // namespace hearth
