#include "jit/definitions/gather_rules.h"

#include <algorithm>
#include <numeric>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

bool IsOfRank(const ValueFacts& facts) { return facts.is_tensor() && facts.rank().has_value(); }

bool AreIds(const ValueFacts& facts) {
  return IsOfRank(facts) && (facts.dtype == c10::kLong || facts.dtype == c10::kInt);
}

// Dimensions of a tensor of that rank that are the result's from `first` on.
std::vector<size_t> From(size_t first, size_t rank) {
  std::vector<size_t> dimensions(rank);
  std::iota(dimensions.begin(), dimensions.end(), first);
  return dimensions;
}

// The ids' dimensions stand where the tensor's one was.
Gather InPlaceOf(size_t dimension, const Value& tensor, size_t rank, const Value& ids, size_t rank_of_ids,
                 IdRange range) {
  Gather gather{&tensor, &ids, dimension, From(0, rank), From(dimension, rank_of_ids), range};
  for (size_t i = dimension + 1; i < rank; ++i) gather.of_tensor[i] = i - 1 + rank_of_ids;
  return gather;
}

// Where all three tensors have the same dimensions.
std::optional<Gather> Along(const Call& call, size_t ids, IdRange range) {
  const ValueFacts &tensor = call.in(0), &places = call.in(ids);
  if (!IsOfRank(tensor) || !AreIds(places) || places.dtype != c10::kLong || tensor.rank() != places.rank()) return {};
  const std::optional<size_t> dimension = Dimension(call.number("dim"), *tensor.rank());
  if (!dimension || tensor.rank() == 0u) return {};
  const std::vector<size_t> all = From(0, *tensor.rank());
  return Gather{call.node().input(0), call.node().input(ids), *dimension, all, all, range};
}

}  // namespace

namespace gather {

std::optional<Gather> ByEmbedding(const Call& call) {
  if (call.in(0).rank() != 2u || !AreIds(call.in(1))) return {};
  return InPlaceOf(0, *call.node().input(0), 2, *call.node().input(1), *call.in(1).rank(), IdRange::kWithin);
}

std::optional<Gather> ByIndexSelect(const Call& call) {
  const ValueFacts &tensor = call.in(0), &ids = call.in(2);
  if (!IsOfRank(tensor) || !AreIds(ids) || ids.rank() != 1u) return {};
  const std::optional<size_t> dimension = Dimension(call.number("dim"), *tensor.rank());
  if (!dimension || tensor.rank() == 0u) return {};
  return InPlaceOf(*dimension, *call.node().input(0), *tensor.rank(), *call.node().input(2), 1, IdRange::kWithin);
}

std::optional<Gather> ByIndex(const Call& call) {
  const Node& list = *call.node().input(1)->node();
  if (!IsOfRank(call.in(0)) || list.kind() != sym::kListConstruct || list.output()->uses().size() != 1) return {};
  const std::vector<ValueFacts>& elements = call.in(1).elements;
  const auto is_none = [](const ValueFacts& facts) { return facts.kind == ValueFacts::Kind::kNone; };
  const auto ids = std::ranges::find_if_not(elements, is_none);
  if (ids == elements.end() || !AreIds(*ids) || !std::all_of(ids + 1, elements.end(), is_none)) return {};
  const auto dimension = static_cast<size_t>(ids - elements.begin());
  if (dimension >= *call.in(0).rank()) return {};
  return InPlaceOf(dimension, *call.node().input(0), *call.in(0).rank(), *list.input(dimension), *ids->rank(),
                   IdRange::kFromEnd);
}

std::optional<Gather> ByGather(const Call& call) {
  std::optional<Gather> gather = call.has("dim") ? Along(call, 2, IdRange::kWithin) : std::nullopt;
  if (!gather) return {};
  // The ids may be fewer along the others, too.
  const KnownSizes &sizes = *call.in(0).sizes, &of_ids = *call.in(2).sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i != gather->dimension && sizes[i] != of_ids[i]) return {};
  }
  return gather;
}

std::optional<Gather> ByTakeAlongDim(const Call& call) { return Along(call, 1, IdRange::kAny); }

}  // namespace gather
}  // namespace hearth
