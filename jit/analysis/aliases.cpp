#include "jit/analysis/aliases.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "jit/analysis/effects.h"
#include "jit/analysis/nested_classes.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

bool IsObject(const c10::Type& type) {
  return type.kind() == c10::TypeKind::ClassType || type.kind() == c10::TypeKind::InterfaceType;
}

bool IsList(const Value& value) { return value.type()->kind() == c10::TypeKind::ListType; }

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

AliasClasses::AliasClasses(const Graph& graph, const UnitEffects* effects, const c10::ivalue::Object* self, Lists lists)
    : effects_(effects),
      self_(self),
      apart_(lists == Lists::kApart),
      value_bound_(graph.value_id_bound()),
      parent_(value_bound_),
      facts_(value_bound_),
      elements_(value_bound_, kNoMemory),
      has_memory_(value_bound_) {
  std::iota(parent_.begin(), parent_.end(), size_t{0});
  for (const Value* input : graph.inputs()) {
    has_memory_[input->id()] = HasMemory(*input->type());
    if (Facts* facts = FactsFor(*input)) (IsObject(*input->type()) ? facts->state : facts->argument) = true;
  }
  VisitBlock(*graph.block());
  for (const Value* output : graph.outputs()) {
    if (Facts* facts = FactsFor(*output)) facts->returned = true;
  }
  SpreadToElements();
  for (const Value* value : written_by_baseline_) {
    ForEachReachable(ClassOf(*value), [&](size_t alias_class) { facts_[alias_class].written = true; });
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
  return value.id() < value_bound_ && has_memory_[value.id()] ? Find(value.id()) : kNoMemory;
}

AliasClasses::Facts* AliasClasses::FactsFor(const Value& value) {
  return has_memory_[value.id()] ? &facts_[Find(value.id())] : nullptr;
}

void AliasClasses::Unify(const Value& a, const Value& b) {
  if (has_memory_[a.id()] && has_memory_[b.id()]) UnifyClasses(a.id(), b.id());
}

void AliasClasses::UnifyClasses(size_t a, size_t b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return;
  // A class that has values is numbered as one of them.
  if (a >= value_bound_) std::swap(a, b);
  parent_[b] = a;
  Merge(&facts_[a], facts_[b]);
  if (elements_[a] == kNoMemory) {
    elements_[a] = elements_[b];
  } else if (elements_[b] != kNoMemory) {
    UnifyClasses(elements_[a], elements_[b]);
  }
}

size_t AliasClasses::ElementsOf(size_t alias_class) const {
  const size_t elements = elements_[Find(alias_class)];
  return elements == kNoMemory || Find(elements) == Find(alias_class) ? kNoMemory : Find(elements);
}

size_t AliasClasses::Elements(const Value& list) {
  const size_t id = Find(list.id());
  if (elements_[id] == kNoMemory) {
    elements_[id] = parent_.size();
    parent_.push_back(parent_.size());
    facts_.emplace_back();
    elements_.push_back(kNoMemory);
  }
  return elements_[id];
}

void AliasClasses::UnifyElements(const Value& list, const Value& element) {
  if (has_memory_[list.id()] && has_memory_[element.id()]) UnifyClasses(Elements(list), element.id());
}

// From now on it is one with what it holds.
void AliasClasses::Collapse(const Value& value) {
  if (!apart_ || !has_memory_[value.id()]) return;
  const size_t id = Find(value.id());
  const size_t elements = std::exchange(elements_[id], id);
  if (elements != kNoMemory) UnifyClasses(id, elements);
}

void AliasClasses::CollapseAll(const Node& node) {
  for (const Value* value : node.inputs()) Collapse(*value);
  for (const Value* value : node.outputs()) Collapse(*value);
}

// Whoever reaches a list reaches what it holds. Classes that hold one another in a circle become one.
void AliasClasses::SpreadToElements() {
  CollapseNested(
      parent_.size(), kNoMemory, [this](size_t id) { return ElementsOf(id); },
      [this](size_t a, size_t b) { UnifyClasses(a, b); });
  for (bool changed = apart_; changed;) {
    changed = false;
    for (size_t id = 0; id < parent_.size(); ++id) {
      const size_t elements = Find(id) == id ? ElementsOf(id) : kNoMemory;
      if (elements == kNoMemory) continue;
      Facts spread = facts_[id];
      spread.written = false;
      const Facts before = facts_[elements];
      Merge(&facts_[elements], spread);
      changed |= facts_[elements] != before;
    }
  }
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
    CollapseAll(node);
    VisitCall(node);
  } else if (IsTask(node)) {
    const Block& body = *node.block(0);
    for (size_t i = 0; i < node.inputs().size(); ++i) Unify(*node.input(i), *body.param(i));
    Unify(*node.output(), *body.returns()[0]);
  } else if (kind == sym::kCallFunction || kind == sym::kCallMethod) {
    CollapseAll(node);
    UnifyAll(node);
    VisitCall(node);
  } else if (apart_ && (kind == sym::kListConstruct || kind == sym::kListUnpack)) {
    const bool makes = kind == sym::kListConstruct;
    const Value& list = makes ? *node.output() : *node.input();
    for (const Value* element : makes ? node.inputs() : node.outputs()) UnifyElements(list, *element);
  } else if (kind == sym::kSetAttr) {
    Unify(*node.input(0), *node.input(1));
    if (Facts* facts = FactsFor(*node.input(0))) facts->written = true;
  } else if (kind == sym::kFrameState) {
    VisitFrameState(node);
  } else if (kind != sym::kToList && kind != sym::kRaiseException) {
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

void AliasClasses::VisitFrameState(const Node& node) {
  if (!node.HasAttribute(sym::kWrittenAttr)) return;
  const auto written = static_cast<uint64_t>(node.attribute<int64_t>(sym::kWrittenAttr));
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if ((written >> std::min<size_t>(i, 63) & 1) != 0) written_by_baseline_.push_back(node.input(i));
  }
}

// What is known of how an operator handles lists. False for one of which nothing is.
bool AliasClasses::VisitListOperator(const Node& node) {
  const ListRole role = DefinitionOf(node.kind()).list;
  const bool known = role != ListRole::kNone && role != ListRole::kRead;
  if (!apart_ || !known || node.inputs().empty() || !IsList(*node.input(0)) || !has_memory_[node.input(0)->id()]) {
    return false;
  }
  const Value& list = *node.input(0);
  if (WritesInput(node, 0)) FactsFor(list)->written = true;
  for (const Value* input : node.inputs().subspan(1)) {
    if (!has_memory_[input->id()]) continue;
    if (role == ListRole::kAdd) UnifyElements(list, *input);
    if (role == ListRole::kExtend || role == ListRole::kCopy) UnifyClasses(Elements(list), Elements(*input));
  }
  for (const Value* output : node.outputs()) {
    if (!has_memory_[output->id()]) continue;
    if (role == ListRole::kTake) {
      UnifyElements(list, *output);
    } else if (role == ListRole::kCopy) {
      UnifyClasses(Elements(list), Elements(*output));
    } else {
      Unify(list, *output);
    }
  }
  return true;
}

void AliasClasses::VisitOperator(const Node& node) {
  if (node.kind() == c10::aten::_unwrap_optional || node.kind() == c10::prim::unchecked_unwrap_optional)
    return Unify(*node.input(0), *node.output());
  if (VisitListOperator(node)) return;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value& input = *node.input(i);
    if (!has_memory_[input.id()]) continue;
    if (WritesInput(node, i)) {
      // What a container is given it holds from then on, and what is written may be what it holds.
      if (!IsTensor(input)) {
        CollapseAll(node);
        UnifyAll(node);
      }
      FactsFor(input)->written = true;
    }
    for (size_t k = 0; k < node.outputs().size(); ++k) {
      const Value& output = *node.output(k);
      if (!has_memory_[output.id()] || !OutputMayAliasInput(node, k, i)) continue;
      if (apart_ && IsTensor(input) && IsList(output)) {
        UnifyElements(output, input);
        continue;
      }
      if (!IsTensor(input)) Collapse(input);
      if (!IsTensor(output)) Collapse(output);
      Unify(input, output);
    }
  }
}

}  // namespace hearth
