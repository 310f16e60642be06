#include "jit/analysis/visible_strides.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsExact(const ValueFacts& facts) { return facts.is_tensor() && facts.order.is_exact(); }

const Symbol kIsContiguous = Symbol::fromQualString("aten::is_contiguous");

enum class Searched : uint8_t { kDimensionsOfOne, kAllDimensions };

class StrideSearch {
 public:
  StrideSearch(const ValueFactTable& facts, Searched searched) : facts_(facts), searched_(searched) {}

  bool MayShow(const Value& value) {
    if (!seen_.insert(&value).second) return false;
    return std::ranges::any_of(value.uses(), [&](const Use& use) { return MayShow(*use.user); });
  }

  bool MayShow(const Node& user) {
    if (user.kind() == sym::kListConstruct) return MayShow(*user.output());
    if (user.kind() == sym::kListUnpack) return AnyMayShow(user);
    if (user.op() == nullptr || user.kind() == c10::aten::stride) return true;
    if (searched_ == Searched::kAllDimensions && DependsOnOrder(user)) return true;
    if (MayCopy(user) && IsWrittenAfter(user)) return true;
    return AnyMayShow(user);
  }

 private:
  // Whether it gives its operand or a view of it for some strides, and a copy for others: whoever writes to the one
  // then writes to the other, too, or does not.
  static bool MayCopy(const Node& user) {
    switch (user.kind()) {
      case c10::aten::contiguous:
      case c10::aten::reshape:
      case c10::aten::reshape_as:
      case c10::aten::flatten:
      case c10::aten::to:
        return user.outputs().size() == 1;
      default:
        return false;
    }
  }

  // Whether somebody may write to what the node gives, or was given.
  bool IsWrittenAfter(const Node& node) const {
    if (!facts_.memory().MayBeWritten(*node.output())) return false;
    const AliasClasses& aliases = facts_.memory().aliases();
    const size_t alias_class = aliases.ClassOf(*node.output());
    // What stands in an inner block may come again.
    if (node.block()->owner() != nullptr || alias_class == AliasClasses::kNoMemory) return true;
    if (aliases.FactsOf(alias_class).outlives()) return true;
    for (const Node* later = node.next(); later != node.block()->return_node(); later = later->next()) {
      if (Writes(*later, aliases, alias_class)) return true;
    }
    return false;
  }

  static bool Writes(const Node& node, const AliasClasses& aliases, size_t alias_class) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (WritesInput(node, i) && aliases.ClassOf(*node.input(i)) == alias_class) return true;
    }
    for (const Block* block : node.blocks()) {
      for (const Node* inner : *block) {
        if (Writes(*inner, aliases, alias_class)) return true;
      }
    }
    return false;
  }

  bool AnyMayShow(const Node& node) {
    return std::ranges::any_of(node.outputs(), [&](const Value* output) { return MayShowIn(*output); });
  }

  bool DependsOnOrder(const Node& user) const {
    // One element comes of those in its place, wherever that is.
    const OperatorDefinition* in_place = FindInPlace(user.kind());
    if (in_place != nullptr && in_place->kind == OperatorClass::kPointwise && !EffectsOf(user).random) return false;
    const OperatorDefinition& definition = DefinitionOf(user.kind());
    const bool raises = definition.only_views && !facts_.Of(*user.input(0)).order.is_known();
    const bool is_unknown = definition.kind == OperatorClass::kOther;
    return raises || is_unknown || definition.looks_at_storage || user.kind() == kIsContiguous || EffectsOf(user).any();
  }

  bool MayShowIn(const Value& output) {
    if (!HasMemory(*output.type())) return false;
    const ValueFacts& facts = facts_.Of(output);
    if (facts.kind == ValueFacts::Kind::kList && !facts.elements.empty()) {
      return !std::ranges::all_of(facts.elements, IsExact) && MayShow(output);
    }
    if (!facts.is_tensor()) return true;
    return !IsExact(facts) && MayShow(output);
  }

  const ValueFactTable& facts_;
  const Searched searched_;
  std::unordered_set<const Value*> seen_;
};

}  // namespace

bool StridesMayShow(const Value& value, const ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kDimensionsOfOne).MayShow(value);
}

bool OrderMayShow(const Value& value, const ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kAllDimensions).MayShow(value);
}

bool OrderMayShowBehind(const Node& user, const ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kAllDimensions).MayShow(user);
}

}  // namespace hearth
