#include "jit/analysis/tensor_bases.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Whether what the operator gives is, or holds, something that this input is or holds.
bool AnyOutputMayAlias(const Node& node, size_t input) {
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (HasMemory(*node.output(i)->type()) && OutputMayAliasInput(node, i, input)) return true;
  }
  return false;
}

// Of what lies in memory as its dimensions are numbered these are views; of some other tensors they are copies.
bool IsViewOfContiguous(Symbol kind) {
  return kind == c10::aten::reshape || kind == c10::aten::reshape_as || kind == c10::aten::flatten;
}

// Views of the first operand, whatever its strides.
bool IsAlwaysView(Symbol kind) {
  const OperatorDefinition& definition = DefinitionOf(kind);
  const bool is_view = definition.kind == OperatorClass::kView && !definition.hides_aliases;
  return kind == c10::aten::detach || (is_view && !definition.looks_at_storage && !IsViewOfContiguous(kind));
}

// Whether it may give one of its operands other memory.
bool Rebinds(const Node& node) { return EffectsOf(node).writes && !KeepsShape(node); }

// Whether it reads the list and keeps nothing of it.
bool OnlyReads(const Use& use) {
  const Node& user = *use.user;
  return user.op() != nullptr && !Rebinds(user) && !WritesInput(user, use.offset) &&
         !AnyOutputMayAlias(user, use.offset);
}

}  // namespace

bool WritesInPlace(const Node& node) {
  return node.op() != nullptr && node.outputs().size() == 1 && !node.inputs().empty() && IsTensor(*node.input(0)) &&
         IsTensor(*node.output()) && WritesInput(node, 0) && OutputMayAliasInput(node, 0, 0);
}

TensorBases::TensorBases(const Graph& graph, const ValueFactTable& facts) : facts_(facts), order_(graph) {
  Visit(*graph.block());
}

const Value* TensorBases::BaseOf(const Value& value) const {
  const auto found = bases_.find(&value);
  return found == bases_.end() ? nullptr : found->second;
}

bool TensorBases::Holds(const Value& list, const Value& base) const {
  const auto found = holders_.find(&list);
  return found != holders_.end() && std::ranges::find(found->second, &base) != found->second.end();
}

void TensorBases::AddBase(const Value& value) {
  bases_[&value] = &value;
  references_[&value].values.push_back(&value);
}

void TensorBases::AddReference(const Value& value, const Value& base) {
  bases_[&value] = &base;
  references_[&base].values.push_back(&value);
}

void TensorBases::Join(const Value& base, const Value& other) {
  References joined = std::move(references_.at(&other));
  references_.erase(&other);
  for (const Value* value : joined.values) {
    if (const auto found = bases_.find(value); found != bases_.end()) found->second = &base;
    if (const auto found = holders_.find(value); found != holders_.end()) {
      std::ranges::replace(found->second, &other, &base);
    }
  }
  References& references = references_.at(&base);
  references.values.insert(references.values.end(), joined.values.begin(), joined.values.end());
  references.uses.insert(references.uses.end(), joined.uses.begin(), joined.uses.end());
  references.escapes.insert(references.escapes.end(), joined.escapes.begin(), joined.escapes.end());
}

void TensorBases::Visit(const Block& block) {
  for (const Node* node : block) {
    VisitNode(*node);
    for (const Block* inner : node->blocks()) Visit(*inner);
    if (node->kind() == sym::kIf) LeaveBranches(*node);
  }
  VisitNode(*block.return_node());
}

void TensorBases::VisitNode(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (const Value* base = BaseOf(*node.input(i))) VisitUse(node, i, *base);
    if (const auto held = holders_.find(node.input(i)); held != holders_.end()) {
      for (const Value* base : held->second) references_.at(base).uses.push_back({const_cast<Node*>(&node), i});
    }
  }
  if (node.kind() == sym::kListConstruct) VisitList(node);
  FindBases(node);
}

void TensorBases::VisitUse(const Node& node, size_t input, const Value& base) {
  References& references = references_.at(&base);
  references.uses.push_back({const_cast<Node*>(&node), input});
  const Symbol kind = node.kind();
  if (kind == sym::kFrameState || kind == sym::kListConstruct) return;
  // LeaveBranches sees to what a branch gives.
  if (kind == sym::kReturn && node.block()->owner() != nullptr && node.block()->owner()->kind() == sym::kIf) return;
  const bool gives_it = input == 0 && (IsView(node) || WritesInPlace(node) || kind == sym::kUncheckedCast);
  if (gives_it && IsTensor(*node.output())) return AddReference(*node.output(), base);
  // One that gives a tensor other memory may take that of any operand.
  const bool keeps = node.op() == nullptr ? kind != sym::kToList : AnyOutputMayAlias(node, input) || Rebinds(node);
  if (keeps) references.escapes.push_back(&node);
}

void TensorBases::VisitList(const Node& node) {
  const bool only_read = std::ranges::all_of(node.output()->uses(), OnlyReads);
  for (const Value* element : node.inputs()) {
    const Value* base = BaseOf(*element);
    if (base == nullptr) continue;
    References& references = references_.at(base);
    if (!only_read) {
      references.escapes.push_back(&node);
    } else if (!Holds(*node.output(), *base)) {
      holders_[node.output()].push_back(base);
      references.values.push_back(node.output());
    }
  }
}

void TensorBases::FindBases(const Node& node) {
  if (node.op() == nullptr || node.op()->is_vararg()) return;
  for (size_t k = 0; k < node.outputs().size(); ++k) {
    if (!IsTensor(*node.output(k)) || BaseOf(*node.output(k)) != nullptr) continue;
    bool is_new = true;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      is_new &= !HasMemory(*node.input(i)->type()) || !OutputMayAliasInput(node, k, i);
    }
    if (is_new) AddBase(*node.output(k));
  }
}

void TensorBases::LeaveBranches(const Node& node) {
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    bool handed_over = IsTensor(*node.output(i));
    for (const Block* block : node.blocks()) {
      handed_over = handed_over && IsHandedOver(*block->returns()[i], node, *block);
    }
    if (handed_over) {
      AddBase(*node.output(i));
      for (const Block* block : node.blocks()) AddStates(*BaseOf(*block->returns()[i]), *node.output(i));
      continue;
    }
    for (const Block* block : node.blocks()) {
      const Value* base = BaseOf(*block->returns()[i]);
      if (base != nullptr) references_.at(base).escapes.push_back(block->return_node());
    }
  }
}

// A FrameState that has what a branch hands over has what the If gives.
void TensorBases::AddStates(const Value& from, const Value& to) {
  for (const Use& use : references_.at(&from).uses) {
    if (use.user->kind() == sym::kFrameState) references_.at(&to).uses.push_back(use);
  }
}

// Whether what a branch gives is known to nobody after the If but by what the If gives.
bool TensorBases::IsHandedOver(const Value& value, const Node& branches, const Block& from) const {
  const Value* base = BaseOf(value);
  if (base == nullptr) return false;
  const References& references = references_.at(base);
  if (!references.escapes.empty()) return false;
  const Block& made_in = *base->node()->block();
  if (order_.Begin(*base->node()) < order_.Begin(branches) ? !IsSameRound(*branches.block(), made_in)
                                                           : !IsSameRound(made_in, from)) {
    return false;
  }
  size_t given = 0;
  for (const Value* reference : references.values) {
    given += static_cast<size_t>(std::ranges::count(from.returns(), reference));
    for (const Use& use : reference->uses()) {
      if (order_.Begin(*use.user) > order_.End(branches)) return false;
    }
  }
  return given == 1;
}

bool TensorBases::IsView(const Node& node) const {
  if (node.op() == nullptr || node.outputs().size() != 1 || !IsTensor(*node.output())) return false;
  if (IsAlwaysView(node.kind())) return true;
  const ValueFacts& facts = facts_.Of(*node.input(0));
  return IsViewOfContiguous(node.kind()) && facts.plain && facts.contiguous();
}

}  // namespace hearth
