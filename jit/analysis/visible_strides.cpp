#include "jit/analysis/visible_strides.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/operator_facts.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

const Symbol kIsContiguous = Symbol::fromQualString("aten::is_contiguous");

enum class Searched : uint8_t { kDimensionsOfOne, kAllDimensions };

class StrideSearch {
 public:
  StrideSearch(ValueFactTable& facts, Searched searched) : facts_(facts), searched_(searched) {}

  bool MayShow(const Value& value) { return MayShow(value, Unsaid(facts_.Of(value))); }

  bool MayShowBehind(const Node& user) {
    for (const Value* operand : user.inputs()) unsaid_.try_emplace(operand, Unsaid(facts_.Of(*operand)));
    return MayShow(user);
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

  // `given`: what is known of the value whatever the strides that are searched are.
  bool MayShow(const Value& value, ValueFacts given) {
    const auto [found, is_new] = unsaid_.try_emplace(&value, given);
    if (!is_new) {
      if (found->second == given) return false;
      // Another of its operands turned out to depend on these strides, too.
      given = Unsaid(facts_.Of(value));
      if (found->second == given) return false;
      found->second = std::move(given);
    }
    return std::ranges::any_of(value.uses(), [&](const Use& use) { return MayShow(*use.user); });
  }

  bool MayShow(const Node& user) {
    const bool is_list = user.kind() == sym::kListConstruct || user.kind() == sym::kListUnpack;
    if (!is_list) {
      // What gives nothing has put its operand somewhere.
      if (user.op() == nullptr || user.outputs().empty() || user.kind() == c10::aten::stride) return true;
      if (searched_ == Searched::kAllDimensions && DependsOnOrder(user)) return true;
      if (MayCopy(user) && IsWrittenAfter(user)) return true;
      if (ReadsShapeOnly(user.kind())) return false;
    }
    std::vector<ValueFacts> given = Infer(user);
    for (size_t i = 0; i < given.size(); ++i) {
      if (MayShowIn(*user.output(i), std::move(given[i]))) return true;
    }
    return false;
  }

  // What the node gives if nothing is known of the strides that are searched.
  std::vector<ValueFacts> Infer(const Node& node) {
    std::vector<ValueFacts> given(node.outputs().size());
    if (node.kind() == sym::kListConstruct) {
      given[0].kind = ValueFacts::Kind::kList;
      for (const Value* input : node.inputs()) given[0].elements.push_back(FactsOf(*input));
    } else if (node.kind() == sym::kListUnpack) {
      const ValueFacts& list = FactsOf(*node.input());
      if (list.elements.size() == given.size()) given = list.elements;
    } else {
      InferOperator(
          node, [this](const Value& value) -> const ValueFacts& { return FactsOf(value); }, facts_.sizes(), given);
    }
    return given;
  }

  const ValueFacts& FactsOf(const Value& value) const {
    const auto found = unsaid_.find(&value);
    return found == unsaid_.end() ? facts_.Of(value) : found->second;
  }

  // The facts without what they say of the strides that are searched.
  ValueFacts Unsaid(ValueFacts facts) const {
    const bool all = searched_ == Searched::kAllDimensions;
    facts.order = all ? StrideOrder() : facts.order.Inexact();
    facts.part_order = all ? PartOrder() : facts.part_order.Inexact();
    facts.suggested_format.reset();
    for (ValueFacts& element : facts.elements) element = Unsaid(std::move(element));
    return facts;
  }

  bool DependsOnOrder(const Node& user) const {
    // One element comes of those in its place, wherever that is.
    const OperatorDefinition* in_place = FindInPlace(user.kind());
    if (in_place != nullptr && in_place->kind == OperatorClass::kPointwise && !EffectsOf(user).random) return false;
    const OperatorDefinition& definition = DefinitionOf(user.kind());
    const bool raises = definition.only_views && !FactsOf(*user.input(0)).order.is_known();
    const bool is_unknown = definition.kind == OperatorClass::kOther;
    return raises || is_unknown || definition.looks_at_storage || user.kind() == kIsContiguous || EffectsOf(user).any();
  }

  bool MayShowIn(const Value& output, ValueFacts given) {
    if (!HasMemory(*output.type())) return false;
    const ValueFacts& facts = facts_.Of(output);
    const bool is_list = facts.kind == ValueFacts::Kind::kList && !facts.elements.empty();
    if (!facts.is_tensor() && !is_list) return true;
    return !(IsExact(facts) && IsExact(given)) && MayShow(output, std::move(given));
  }

  // Whether its strides are known, of a list: those of all of its elements.
  bool IsExact(const ValueFacts& facts) {
    const bool is_list = facts.kind == ValueFacts::Kind::kList && !facts.elements.empty();
    if (is_list) return std::ranges::all_of(facts.elements, [this](const ValueFacts& one) { return IsExact(one); });
    if (!facts.is_tensor() || !facts.order.is_known() || !facts.sizes) return facts.order.is_exact();
    const auto has_several = [this](KnownSize size) { return facts_.sizes().IsAtLeast(size, 2); };
    return facts.order.is_exact() || std::ranges::all_of(*facts.sizes, has_several);
  }

  ValueFactTable& facts_;
  const Searched searched_;
  std::unordered_map<const Value*, ValueFacts> unsaid_;  // of those whose strides depend on the ones that are searched
};

}  // namespace

bool StridesMayShow(const Value& value, ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kDimensionsOfOne).MayShow(value);
}

bool OrderMayShow(const Value& value, ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kAllDimensions).MayShow(value);
}

bool OrderMayShowBehind(const Node& user, ValueFactTable& facts) {
  return StrideSearch(facts, Searched::kAllDimensions).MayShowBehind(user);
}

}  // namespace hearth
