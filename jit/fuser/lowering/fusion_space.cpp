#include "jit/fuser/lowering/fusion_space.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "jit/definitions/definition.h"
#include "jit/definitions/place_rules.h"
#include "jit/definitions/row_rules.h"
#include "jit/definitions/scalar_rules.h"

namespace hearth {
namespace {

std::vector<size_t> NestingOf(const ValueFacts& facts) {
  std::vector<size_t> nesting;
  for (const PartOrder::Level& level : LevelsOf(facts)) nesting.push_back(level.dimension);
  return nesting;
}

bool HasOneDimension(const ValueFacts& facts) {
  return std::ranges::count_if(*facts.sizes, [](KnownSize size) { return size != 1; }) <= 1;
}

// Whether they can write it.
bool IsWritable(const ValueFacts& facts) {
  return IsReadable(facts) && (facts.order.is_known() || HasOneDimension(facts));
}

// Whether each tensor that the node reads has one element along a dimension in which its space has several.
bool ReadsLittle(const Node& node, const KnownSizes& sizes, ValueFactTable& facts) {
  const auto is_small = [&](const Value* value) {
    if (value->type()->kind() != c10::TypeKind::TensorType) return true;
    const std::optional<KnownSizes>& own = facts.Of(*value).sizes;
    if (!own || own->size() > sizes.size()) return false;
    const size_t extra = sizes.size() - own->size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      const bool is_one = i < extra || (*own)[i - extra] == 1;
      if (is_one && facts.sizes().IsAtLeast(sizes[i], 2)) return true;
    }
    return false;
  };
  return std::ranges::all_of(node.inputs(), is_small);
}

// Along which dimensions the rows lie that the node depends on.
std::optional<std::vector<size_t>> RowDimensions(const Node& node, const RowRule& rule, ValueFactTable& facts) {
  const std::function<const ValueFacts&(const Value&)> facts_of = [&](const Value& of) -> const ValueFacts& {
    return facts.Of(of);
  };
  std::vector<ValueFacts> given{facts.Of(*node.output())};
  return rule.dimensions(Call(node, facts_of, facts.sizes(), given));
}

// How many of the innermost dimensions are the row that the node depends on; null if its row is none of these.
std::optional<size_t> RowOf(const Node& node, const RowRule& rule, const FusionSpace& space, ValueFactTable& facts) {
  std::optional<std::vector<size_t>> dimensions = space.sizes.empty() ? std::nullopt : RowDimensions(node, rule, facts);
  if (!dimensions) return {};
  std::erase_if(*dimensions, [&](size_t dimension) { return space.sizes[dimension] == 1; });
  if (dimensions->empty() || dimensions->size() > space.nesting.size()) return {};
  std::vector<size_t> innermost(space.nesting.end() - static_cast<ptrdiff_t>(dimensions->size()), space.nesting.end());
  std::ranges::sort(innermost);
  std::ranges::sort(*dimensions);
  return innermost == *dimensions ? std::optional(innermost.size()) : std::nullopt;
}

// The dimensions that have several elements, but for the rows.
std::vector<size_t> OutsideOfRows(const FusionSpace& space) {
  return {space.nesting.begin(), space.nesting.end() - static_cast<ptrdiff_t>(space.row)};
}

}  // namespace

std::vector<PartOrder::Level> LevelsOf(const ValueFacts& facts) {
  std::vector<PartOrder::Level> levels;
  const PartOrder nested = facts.nested();
  const bool is_known = nested.is_known();
  for (size_t i = 0; i < facts.sizes->size(); ++i) {
    const PartOrder::Level level = is_known ? nested.levels()[i] : PartOrder::Level{static_cast<uint8_t>(i), true, 0};
    if ((*facts.sizes)[level.dimension] != 1) {
      levels.push_back(level);
    } else if (!levels.empty()) {
      levels.back().has_gap |= level.has_gap;
    }
  }
  return levels;
}

bool IsReadable(const ValueFacts& facts) {
  if (!facts.is_tensor() || !facts.plain || !facts.dtype || !KernelDtype(*facts.dtype)) return false;
  if (!facts.device || !(facts.device->is_cpu() || facts.device->is_cuda()) || !facts.sizes) return false;
  // Of no elements, the strides depend on who makes the tensor.
  const auto is_usable = [](KnownSize size) { return size.is_known() && size != 0; };
  if (!std::ranges::all_of(*facts.sizes, is_usable)) return false;
  return facts.nested().is_known() || HasOneDimension(facts);
}

bool IsWhole(KnownSize size, KnownSize of_space, const SizeAlgebra& algebra) {
  return size == of_space || (algebra.Least(size).value_or(0) >= 2 && algebra.Least(of_space).value_or(0) >= 2);
}

bool IsReduction(const Node& node) {
  const RowRule* rule = DefinitionOf(node.kind()).row;
  return rule != nullptr && rule->IsReduction();
}

bool IsForRowsOf(const FusionSpace& space, const FusionSpace& of) {
  if (of.row == 0 || space.row != 0 || space.moves || space.device != of.device ||
      space.sizes.size() != of.sizes.size())
    return false;
  const std::vector<size_t> rows = OutsideOfRows(of);
  if (of.in_order ? space.nesting != rows : !std::ranges::is_permutation(space.nesting, rows)) return false;
  for (size_t i = 0; i < space.sizes.size(); ++i) {
    const bool in_row =
        std::ranges::find(of.nesting.end() - static_cast<ptrdiff_t>(of.row), of.nesting.end(), i) != of.nesting.end();
    if (space.sizes[i] != (in_row ? KnownSize(1) : of.sizes[i])) return false;
  }
  return true;
}

std::vector<size_t> KeptDimensions(const Node& node, ValueFactTable& facts) {
  std::vector<size_t> kept(facts.Of(*node.input(0)).sizes->size());
  std::iota(kept.begin(), kept.end(), 0);
  if (IsReadInGroup(node, facts)) return kept;
  const std::vector<size_t> reduced = *RowDimensions(node, *DefinitionOf(node.kind()).row, facts);
  std::erase_if(kept, [&](size_t dimension) { return std::ranges::find(reduced, dimension) != reduced.end(); });
  return kept;
}

bool GivesRowsInOrder(const Node& node, const FusionSpace& space, ValueFactTable& facts) {
  std::vector<size_t> nesting = NestingOf(facts.Of(*node.output()));
  if (IsReduction(node)) {
    const std::vector<size_t> kept = KeptDimensions(node, facts);
    for (size_t& dimension : nesting) dimension = kept[dimension];
  }
  return nesting == OutsideOfRows(space);
}

// On a GPU the kernel looks at the ids itself: of a tensor with one element it would not.
bool MayPick(const Node& node, c10::Device device, ValueFactTable& facts) {
  const std::optional<Gather> gather = GatherOf(node, facts);
  return gather && (device.is_cpu() || (*facts.Of(*gather->tensor).sizes)[gather->dimension] != 1);
}

std::optional<FusionSpace> SpaceOf(const Node& node, ValueFactTable& facts) {
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  if (node.op() == nullptr || node.outputs().size() != 1) return {};
  if (definition.scalar == nullptr && definition.row == nullptr && !ReadsMemory(node)) return {};
  if (node.output()->type()->kind() != c10::TypeKind::TensorType || !IsWritable(facts.Of(*node.output()))) return {};
  const bool is_reduction = IsReduction(node);
  const ValueFacts& known = facts.Of(is_reduction ? *node.input(0) : *node.output());
  if (!IsReadable(known)) return {};
  if (definition.gather != nullptr && !MayPick(node, *known.device, facts)) return {};
  FusionSpace space{*known.device, *known.sizes, NestingOf(known)};
  space.moves = definition.place != nullptr;
  space.reads_little = !ReadsMemory(node) && ReadsLittle(node, space.sizes, facts);
  if (definition.row == nullptr) return space;
  const std::optional<size_t> row = RowOf(node, *definition.row, space, facts);
  if (!row) return {};
  space.row = *row;
  space.in_order = !is_reduction || GivesRowsInOrder(node, space, facts);
  if (!space.in_order && !IsReadInGroup(node, facts)) return {};
  return space;
}

std::optional<FusionSpace> Joined(const FusionSpace& a, const FusionSpace& b, const SizeAlgebra& algebra,
                                  const AreBound& are_bound) {
  if (IsForRowsOf(a, b)) return b;
  if (IsForRowsOf(b, a)) return a;
  if (a.row != b.row && a.row != 0 && b.row != 0) return {};
  if (a.device != b.device || a.nesting != b.nesting || a.sizes.size() != b.sizes.size()) return {};
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] != b.sizes[i] && !(IsWhole(a.sizes[i], b.sizes[i], algebra) && are_bound(i))) return {};
  }
  FusionSpace both = a.row != 0 ? a : b;
  both.in_order = a.in_order && b.in_order;
  both.reads_little = a.reads_little && b.reads_little;
  both.moves = a.moves || b.moves;
  // A row that is several dimensions could not be gone through as one; on a GPU, its loads are no vectors.
  if (both.moves && (both.row > 1 || (both.row > 0 && both.device.is_cuda()))) return {};
  return both;
}

std::optional<FusionSpace> JoinedWithin(const FusionSpace& within, const FusionSpace& around,
                                        const SizeAlgebra& algebra, const AreBound& are_bound) {
  if (within.row != 0 || within.nesting.empty() || around.nesting.empty()) return {};
  if (!within.reads_little && within.nesting.back() != around.nesting.back()) return {};
  FusionSpace turned = within;
  turned.nesting = around.nesting;
  return std::ranges::is_permutation(within.nesting, around.nesting) ? Joined(turned, around, algebra, are_bound)
                                                                     : std::nullopt;
}

std::optional<std::vector<size_t>> MovedDimensions(const Node& node, ValueFactTable& facts) {
  const std::vector<const Value*> tensors = MovedTensors(node);
  const auto has_sizes = [&](const Value* tensor) { return facts.Of(*tensor).is_tensor() && facts.Of(*tensor).sizes; };
  if (tensors.empty() || !std::ranges::all_of(tensors, has_sizes)) return {};
  const std::function<const ValueFacts&(const Value&)> facts_of = [&](const Value& of) -> const ValueFacts& {
    return facts.Of(of);
  };
  std::vector<ValueFacts> given{facts.Of(*node.output())};
  return DefinitionOf(node.kind()).place->dimensions(Call(node, facts_of, facts.sizes(), given));
}

std::optional<Gather> GatherOf(const Node& node, ValueFactTable& facts) {
  const GatherRule rule = DefinitionOf(node.kind()).gather;
  if (rule == nullptr || node.op() == nullptr) return {};
  const std::function<const ValueFacts&(const Value&)> facts_of = [&](const Value& of) -> const ValueFacts& {
    return facts.Of(of);
  };
  std::vector<ValueFacts> given{facts.Of(*node.output())};
  return rule(Call(node, facts_of, facts.sizes(), given));
}

bool ReadsMemory(const Node& node) {
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  return definition.place != nullptr || definition.gather != nullptr;
}

bool IsReadInGroup(const Node& node, ValueFactTable& facts) {
  return !IsReduction(node) || facts.Of(*node.output()).rank() == facts.Of(*node.input(0)).rank();
}

}  // namespace hearth
