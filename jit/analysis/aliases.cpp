#include "jit/analysis/aliases.h"

#include <ATen/core/jit_type.h>

#include <numeric>

#include "jit/analysis/effects.h"
#include "jit/analysis/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

bool IsObject(const c10::Type& type) {
  return type.kind() == c10::TypeKind::ClassType || type.kind() == c10::TypeKind::InterfaceType;
}

void Merge(AliasClasses::Facts* into, const AliasClasses::Facts& from) {
  into->state |= from.state;
  into->constant |= from.constant;
  into->argument |= from.argument;
  into->returned |= from.returned;
  into->written |= from.written;
  into->called |= from.called;
}

}  // namespace

const c10::ivalue::Object* KnownObject(const Value& value, const c10::ivalue::Object* self) {
  const Node& node = *value.node();
  if (node.kind() == sym::kConstant) {
    const auto& constant = node.attribute<c10::IValue>(sym::kValueAttr);
    return constant.isObject() ? &constant.toObjectRef() : nullptr;
  }
  return &node == node.graph()->block()->param_node() && value.offset() == 0 ? self : nullptr;
}

AliasClasses::AliasClasses(const Graph& graph, const UnitEffects* effects, const c10::ivalue::Object* self)
    : effects_(effects),
      self_(self),
      parent_(graph.value_id_bound()),
      facts_(graph.value_id_bound()),
      has_memory_(graph.value_id_bound()) {
  std::iota(parent_.begin(), parent_.end(), size_t{0});
  for (const Value* input : graph.inputs()) {
    has_memory_[input->id()] = HasMemory(*input->type());
    if (Facts* facts = FactsFor(*input)) (IsObject(*input->type()) ? facts->state : facts->argument) = true;
  }
  VisitBlock(*graph.block());
  for (const Value* output : graph.outputs()) {
    if (Facts* facts = FactsFor(*output)) facts->returned = true;
  }
}

size_t AliasClasses::Find(size_t id) const {
  while (parent_[id] != id) {
    parent_[id] = parent_[parent_[id]];
    id = parent_[id];
  }
  return id;
}

size_t AliasClasses::ClassOf(const Value& value) const {
  return has_memory_[value.id()] ? Find(value.id()) : kNoMemory;
}

AliasClasses::Facts AliasClasses::AllFacts() const {
  Facts all;
  for (const Facts& facts : facts_) Merge(&all, facts);
  return all;
}

AliasClasses::Facts* AliasClasses::FactsFor(const Value& value) {
  return has_memory_[value.id()] ? &facts_[Find(value.id())] : nullptr;
}

void AliasClasses::Unify(const Value& a, const Value& b) {
  if (!has_memory_[a.id()] || !has_memory_[b.id()]) return;
  const size_t root_a = Find(a.id());
  const size_t root_b = Find(b.id());
  if (root_a == root_b) return;
  parent_[root_b] = root_a;
  Merge(&facts_[root_a], facts_[root_b]);
}

void AliasClasses::UnifyAll(const Node& node) {
  const Value* first = nullptr;
  const auto join = [&](const Value* value) {
    if (!has_memory_[value->id()]) return;
    if (first == nullptr) {
      first = value;
    } else {
      Unify(*first, *value);
    }
  };
  for (const Value* value : node.inputs()) join(value);
  for (const Value* value : node.outputs()) join(value);
}

void AliasClasses::VisitBlock(const Block& block) {
  for (const Value* param : block.params()) has_memory_[param->id()] = HasMemory(*param->type());
  for (const Node* node : block) {
    LoadBudget::Check();
    for (const Value* output : node->outputs()) has_memory_[output->id()] = HasMemory(*output->type());
    for (const Block* nested : node->blocks()) VisitBlock(*nested);
    VisitNode(*node);
  }
}

void AliasClasses::VisitNode(const Node& node) {
  if (node.op() != nullptr) return VisitOperator(node);
  const Symbol kind = node.kind();
  const bool attribute = kind == sym::kGetAttr || kind == sym::kSetAttr;
  if (attribute && self_ != nullptr && KnownObject(*node.input(0), self_) != nullptr) return;
  if (kind == sym::kConstant) {
    // The None of an Optional has no memory, whatever its type says.
    const bool none = node.attribute<c10::IValue>(sym::kValueAttr).isNone();
    if (none) has_memory_[node.output()->id()] = false;
    if (Facts* facts = FactsFor(*node.output())) facts->state = facts->constant = true;
  } else if (kind == sym::kIf) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      for (const Block* block : node.blocks()) Unify(*node.output(i), *block->returns()[i]);
    }
  } else if (kind == sym::kLoop) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      Unify(*node.output(i), *node.input(i + 2));
      Unify(*node.output(i), *node.block(0)->param(i + 1));
      Unify(*node.output(i), *node.block(0)->returns()[i + 1]);
    }
  } else if (kind == sym::kWith) {
    for (size_t i = 0; i < node.outputs().size(); ++i) Unify(*node.output(i), *node.block(0)->returns()[i]);
    for (const Value* param : node.block(0)->params()) Unify(*node.input(0), *param);
    VisitCall(node);
  } else if (kind == sym::kFork || kind == sym::kAwaitable) {
    const Block& body = *node.block(0);
    for (size_t i = 0; i < node.inputs().size(); ++i) Unify(*node.input(i), *body.param(i));
    Unify(*node.output(), *body.returns()[0]);
  } else if (kind == sym::kCallFunction || kind == sym::kCallMethod) {
    UnifyAll(node);
    VisitCall(node);
  } else if (kind == sym::kSetAttr) {
    Unify(*node.input(0), *node.input(1));
    if (Facts* facts = FactsFor(*node.input(0))) facts->written = true;
  } else if (kind != sym::kToList && kind != sym::kRaiseException && kind != sym::kFrameState) {
    // Containers hold their elements, attributes and elements come from what holds them, casts give the same.
    UnifyAll(node);
  }
}

void AliasClasses::VisitCall(const Node& node) {
  const bool writes = effects_ == nullptr || effects_->OfCall(node).writes;
  for (const Value* input : node.inputs()) {
    if (Facts* facts = FactsFor(*input)) {
      facts->called = true;
      facts->written |= writes;
    }
  }
}

void AliasClasses::VisitOperator(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (!has_memory_[node.input(i)->id()]) continue;
    if (WritesInput(node, i)) {
      FactsFor(*node.input(i))->written = true;
      // What a container is given it holds from then on.
      if (node.input(i)->type()->kind() != c10::TypeKind::TensorType) UnifyAll(node);
    }
    for (size_t k = 0; k < node.outputs().size(); ++k) {
      if (has_memory_[node.output(k)->id()] && OutputMayAliasInput(node, k, i)) Unify(*node.input(i), *node.output(k));
    }
  }
}

}  // namespace hearth
