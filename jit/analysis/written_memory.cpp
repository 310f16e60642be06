#include "jit/analysis/written_memory.h"

#include <ATen/core/jit_type.h>

#include "jit/analysis/effects.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsListLiteral(const Value& value) { return value.node()->kind() == sym::kListConstruct; }

// Of one that writes a list.
bool KeepsLength(const Node& node) {
  static const Symbol kReverse = Symbol::fromQualString("aten::reverse");
  return node.kind() == c10::aten::_set_item || node.kind() == kReverse || node.kind() == c10::aten::sort;
}

bool MayBeList(const c10::Type& type) {
  return type.kind() != c10::TypeKind::TensorType && type.kind() != c10::TypeKind::DictType &&
         type.kind() != c10::TypeKind::ClassType;
}

}  // namespace

WrittenMemory::WrittenMemory(const Graph& graph, const UnitEffects* effects, StateWrites by_others)
    : aliases_(graph, effects, nullptr, AliasClasses::Lists::kApart),
      writes_(aliases_.bound()),
      abroad_(aliases_.bound()),
      by_others_(by_others) {
  FindWrites(*graph.block(), effects);
  MergeOutside();
}

void WrittenMemory::Writes::Add(const Writes& other) {
  any |= other.any;
  list |= other.list;
  length |= other.length;
  tensor |= other.tensor;
  shape |= other.shape;
}

void WrittenMemory::FindWrites(const Block& block, const UnitEffects* effects) {
  for (const Node* node : block) {
    // What an attribute is bound to is not followed.
    if (node->kind() == sym::kSetAttr) continue;
    const bool calls = EffectsOf(*node).calls;
    const bool call_writes = calls && (effects == nullptr || effects->OfCall(*node).writes);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const size_t written = aliases_.ClassOf(*node->input(i));
      if (written == AliasClasses::kNoMemory) continue;
      Writes writes;
      if (call_writes) {
        writes = {true, true, true, true, true};
      } else if (!calls && WritesInput(*node, i)) {
        const c10::Type& type = *node->input(i)->type();
        const bool tensor = type.kind() == c10::TypeKind::TensorType;
        const bool list = MayBeList(type);
        writes = {true, list, list && !KeepsLength(*node), tensor, tensor && !KeepsShape(*node)};
      }
      writes_[written].Add(writes);
      if (!IsListLiteral(*node->input(i)) || calls) abroad_[written].Add(writes);
    }
    for (const Block* nested : node->blocks()) FindWrites(*nested, effects);
  }
}

// What comes from outside may be one and the same thing; a list that the graph makes is none of that, wherever it goes.
void WrittenMemory::MergeOutside() {
  Writes outside;
  const auto is_outside = [&](size_t id) {
    const AliasClasses::Facts& facts = aliases_.FactsOf(id);
    return facts.state || facts.argument || facts.called;
  };
  for (size_t id = 0; id < writes_.size(); ++id) {
    if (is_outside(id)) outside.Add(abroad_[id]);
    const AliasClasses::Facts& facts = aliases_.FactsOf(id);
    if (!facts.state && !facts.called) continue;
    to_state_.tensors |= writes_[id].tensor;
    to_state_.shapes |= writes_[id].shape;
  }
  for (size_t id = 0; id < writes_.size(); ++id) {
    if (is_outside(id)) writes_[id].Add(outside);
  }
}

WrittenMemory::Writes WrittenMemory::To(const Value& value) const {
  const size_t alias_class = aliases_.ClassOf(value);
  return alias_class == AliasClasses::kNoMemory ? Writes() : writes_[alias_class];
}

bool WrittenMemory::MayBeWritten(const Value& value) const {
  bool written = false;
  aliases_.ForEachReachable(aliases_.ClassOf(value), [&](size_t alias_class) { written |= writes_[alias_class].any; });
  return written;
}

bool WrittenMemory::MayHoldOthers(const Value& value) const { return To(value).list; }

bool WrittenMemory::MayChangeShape(const Value& value) const { return To(value).shape; }

}  // namespace hearth
