// What views, joins and lookups by position do to the rows of a batch.
#include "jit/definitions/batch_rules.h"

#include <algorithm>
#include <numeric>

namespace hearth::batch {
namespace {

using Kind = BatchState::Kind;

constexpr std::string_view kAxis = "works along the axis of the rows";
constexpr std::string_view kUnknownDimension = "works along a dimension that is not known";
constexpr std::string_view kTooFewSizes = "is given fewer sizes than the tensor has";
constexpr std::string_view kNoRank = "has a tensor whose number of dimensions is not known";

// Whether the first input is rows of known rank and all others are the same in all runs. Says what comes of it where
// not.
bool IsFirstRows(BatchCall& call) {
  if (!call.AllClear()) return false;
  if (call.AllUniform()) {
    call.Give(BatchState::Uniform());
    return false;
  }
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    if (JoinOfElements(call.in(i)).is_uniform()) continue;
    call.Unclear("looks up what is in the rows");
    return false;
  }
  if (call.in(0).is_rows() && call.rank(0)) return true;
  call.Unclear(kNoRank);
  return false;
}

std::optional<size_t> DimensionNamed(const BatchCall& call, std::string_view name, size_t rank) {
  const auto number = call.facts.number(name);
  const auto at = number ? Dimension(number, rank) : std::nullopt;
  return at && *at < rank ? at : std::nullopt;
}

// A tensor that is the same in all runs, repeated along what has the size 1.
void GiveRepeated(BatchCall& call, const KnownSizes& sizes) {
  const ValueFacts& before = call.facts.in(0);
  std::optional<size_t> axis;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (call.sizes.IsUniform(sizes[i])) continue;
    if (axis || !call.sizes.PerRow(sizes[i]).is_known() || !before.rank())
      return call.Unclear("has sizes that depend on the number of rows in a way that is not known");
    axis = i;
  }
  if (!axis) return call.Give(BatchState::Uniform());
  const size_t from_end = sizes.size() - *axis;
  const bool once = *before.rank() < from_end || (*before.sizes)[*before.rank() - from_end] == 1;
  if (!once) return call.Unclear("repeats a tensor along the rows");
  call.Give(BatchState::Rows(*axis, call.sizes.PerRow(sizes[*axis]), false));
}

// Whether the first input is numbers of rows, of known rank.
bool AreRowNumbers(const BatchCall& call) { return call.in(0).kind == Kind::kRowNumbers && call.rank(0); }

// Whether the other has its rows along `axis`, in the same order and as many for each.
bool AreAlike(const BatchState& state, const BatchState& other, size_t axis) {
  return other.axis == axis && other.outer == state.outer && state.per_row.is_known() && other.per_row == state.per_row;
}

void GiveRowNumbers(BatchCall& call, size_t axis) { call.Give({.kind = Kind::kRowNumbers, .axis = axis}); }

}  // namespace

// Elements stay in their order. The rows are along the dimension that is so many times the number of rows.
void Reshape(BatchCall& call) {
  if (AreRowNumbers(call) && call.facts.out().sizes) {
    const KnownSizes to = call.SizesOf(call.facts.out());
    const auto rows = std::ranges::find(to, call.sizes.rows());
    const auto ones = std::ranges::count(to, KnownSize(1));
    if (rows != to.end() && ones + 1 == std::ssize(to)) return GiveRowNumbers(call, rows - to.begin());
  }
  if (!call.AllClear({0})) return;
  const BatchState& state = call.in(0);
  const ValueFacts& after = call.facts.out();
  if (state.is_uniform() && call.AllUniform()) return call.Give(BatchState::Uniform());
  if (!after.sizes || !call.rank(0)) return call.Unclear("gives sizes that are not known");
  const KnownSizes to = call.SizesOf(after);
  if (state.is_uniform()) {
    const bool uniform = std::ranges::all_of(to, [&](KnownSize size) { return call.sizes.IsUniform(size); });
    return uniform ? call.Give(BatchState::Uniform()) : call.Unclear("gives sizes that depend on the number of rows");
  }
  SizeAlgebra& algebra = call.sizes.algebra();
  const auto quotient = [&](KnownSize all, KnownSize by) {
    const KnownSize each = algebra.Divide(all, by);
    return call.sizes.Normal(algebra.Multiply(each, by)) == call.sizes.Normal(all) ? each : KnownSize();
  };
  // So often all rows are there, in the order of the elements.
  const KnownSize times =
      algebra.Multiply(Product(algebra, call.SizesOf(call.facts.in(0)), 0, state.axis), state.outer);
  for (size_t i = 0; i < to.size() && times.is_known(); ++i) {
    const KnownSize together = call.sizes.PerRow(to[i]);
    if (!together.is_known()) continue;
    const KnownSize outer = quotient(times, Product(algebra, to, 0, i));
    const KnownSize per_row = outer.is_known() ? quotient(together, outer) : KnownSize();
    if (!per_row.is_known() || !call.sizes.IsUniform(outer) || !call.sizes.IsUniform(per_row)) break;
    return call.Give(BatchState::Rows(i, per_row, state.of_inputs, call.sizes.Normal(outer)));
  }
  call.Unclear("gives sizes of which it is not known where the rows are");
}

void Unsqueeze(BatchCall& call) {
  if (AreRowNumbers(call)) {
    const auto at = DimensionNamed(call, "dim", *call.rank(0) + 1);
    if (at) return GiveRowNumbers(call, call.in(0).axis + (*at <= call.in(0).axis ? 1 : 0));
  }
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  const auto at = DimensionNamed(call, "dim", *call.rank(0) + 1);
  if (!at) return call.Unclear(kUnknownDimension);
  call.GiveRows(state, state.axis + (*at <= state.axis ? 1 : 0));
}

void Squeeze(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  if (call.facts.num_inputs() == 1) return call.Unclear("removes the axis of the rows where there is one row");
  const auto at = DimensionNamed(call, "dim", *call.rank(0));
  if (!at || !call.facts.out().rank()) return call.Unclear("may remove a dimension");
  if (*at == state.axis) return call.Unclear("removes the axis of the rows where there is one row");
  const bool removed = *call.facts.out().rank() < *call.rank(0);
  call.GiveRows(state, state.axis - (removed && *at < state.axis ? 1 : 0));
}

void Transpose(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  const bool axes = call.facts.has("axis0");
  const auto a = DimensionNamed(call, axes ? "axis0" : "dim0", *call.rank(0));
  const auto b = DimensionNamed(call, axes ? "axis1" : "dim1", *call.rank(0));
  if (!a || !b) return call.Unclear(kUnknownDimension);
  call.GiveRows(state, state.axis == *a ? *b : state.axis == *b ? *a : state.axis);
}

void TransposeMatrix(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  call.GiveRows(call.in(0), *call.rank(0) - 1 - call.in(0).axis);
}

void Permute(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const std::optional<KnownSizes> dims = call.facts.numbers("dims");
  if (!dims || dims->size() != *call.rank(0)) return call.Unclear(kUnknownDimension);
  std::optional<size_t> place;
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto from = Dimension((*dims)[i].constant(), dims->size());
    if (!from) return call.Unclear(kUnknownDimension);
    if (*from == call.in(0).axis) place = i;
  }
  if (!place) return call.Unclear(kUnknownDimension);
  call.GiveRows(call.in(0), *place);
}

// To sizes, or those of another tensor.
void Expand(BatchCall& call) {
  if (!call.AllClear({0})) return;
  const bool as_other = call.facts.is_tensor_type(1);
  if (!as_other && !call.AreSizes({1})) return;
  const BatchState& state = call.in(0);
  const ValueFacts& after = call.facts.out();
  if (state.is_uniform() && call.AllUniform()) return call.Give(BatchState::Uniform());
  if (!after.sizes || !call.rank(0)) return call.Unclear("gives sizes that are not known");
  const KnownSizes to = call.SizesOf(after);
  if (state.is_uniform()) return GiveRepeated(call, to);
  if (to.size() < *call.rank(0)) return call.Unclear(kTooFewSizes);
  const size_t axis = to.size() - (*call.rank(0) - state.axis);
  // Also where one row is expanded to a number of rows that is written down, several would not be.
  if (!call.sizes.PerRow(to[axis]).is_known()) return call.Unclear("may expand the axis of the rows");
  for (size_t i = 0; i < to.size(); ++i) {
    if (i != axis && !call.sizes.IsUniform(to[i])) return call.Unclear("gives sizes that are not known");
  }
  call.GiveRows(state, axis);
}

void Repeat(BatchCall& call) {
  if (!call.AllClear({0}) || !call.AreSizes({1})) return;
  const BatchState& state = call.in(0);
  if (state.is_uniform() && call.AllUniform()) return call.Give(BatchState::Uniform());
  const ValueFacts& after = call.facts.out();
  const std::optional<KnownSizes> repeats = call.facts.numbers("repeats");
  if (!after.sizes || !repeats || !call.rank(0)) return call.Unclear("repeats so often as is not known");
  if (state.is_uniform()) return GiveRepeated(call, call.SizesOf(after));
  if (repeats->size() < *call.rank(0)) return call.Unclear(kTooFewSizes);
  const size_t axis = repeats->size() - (*call.rank(0) - state.axis);
  for (size_t i = 0; i < repeats->size(); ++i) {
    if (i != axis && !call.sizes.IsUniform((*repeats)[i])) return call.Unclear("repeats so often as is not known");
  }
  if ((*repeats)[axis] != 1) return call.Unclear("repeats the rows, one batch behind the other");
  call.GiveRows(state, axis);
}

// Each element so often, one behind the other.
void RepeatElements(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  BatchState state = call.in(0);
  const auto dim = DimensionNamed(call, "dim", *call.rank(0));
  const KnownSize repeats = call.facts.computed("repeats");
  if (!dim || !repeats.is_known()) return call.Unclear(kUnknownDimension);
  if (*dim == state.axis) state.per_row = call.sizes.algebra().Multiply(state.per_row, repeats);
  call.Give(state);
}

void Select(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  const auto dim = DimensionNamed(call, "dim", *call.rank(0));
  if (!dim) return call.Unclear(kUnknownDimension);
  if (*dim == state.axis) return call.Mix(state, "takes one row for all");
  call.GiveRows(state, state.axis - (*dim < state.axis ? 1 : 0));
}

void Slice(BatchCall& call) {
  if (call.facts.node().output()->type()->kind() == c10::TypeKind::ListType) {
    // Also of sizes.
    for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
      if (!call.in(i).is_uniform()) return call.Unclear("takes so much of a list as depends on the rows");
    }
    return call.Give(JoinOfElements(call.in(0)));
  }
  if ((call.in(0).is_rows() || AreRowNumbers(call)) && call.rank(0) && call.AreSizes({1, 2, 3, 4})) {
    const auto dim = DimensionNamed(call, "dim", *call.rank(0));
    const BatchState& state = call.in(0);
    if (dim && *dim == state.axis) {
      // The whole of it, however that is said.
      const std::optional<KnownSizes>& after = call.facts.out().sizes;
      const bool whole = after && call.facts.number("step").value_or(1) == 1 &&
                         call.sizes.Normal((*after)[*dim]) == call.size(0, *dim) && call.size(0, *dim).is_known();
      return whole ? call.Give(state) : call.Unclear("takes a part of the rows");
    }
  }
  if (!IsFirstRows(call)) return;
  if (!DimensionNamed(call, "dim", *call.rank(0))) return call.Unclear(kUnknownDimension);
  call.Give(call.in(0));
}

// A list of parts of one dimension.
void Parts(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  const auto dim = DimensionNamed(call, "dim", *call.rank(0));
  if (!dim) return call.Unclear(kUnknownDimension);
  if (*dim == state.axis) return call.Unclear("takes the rows apart");
  const bool unbinds = call.facts.node().kind() == c10::aten::unbind;
  call.GiveRows(state, state.axis - (unbinds && *dim < state.axis ? 1 : 0));
}

// Within another dimension.
void AlongOther(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const auto dim = DimensionNamed(call, call.facts.has("dim") ? "dim" : "dimension", *call.rank(0));
  if (!dim) return call.Unclear(kUnknownDimension);
  if (*dim == call.in(0).axis) return call.Unclear(kAxis);
  call.Give(call.in(0));
}

// Elements in another order along dimensions.
void Reordered(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  const BatchState& state = call.in(0);
  const std::optional<KnownSizes> dims = call.facts.numbers("dims");
  if (!dims || dims->empty()) return call.Unclear(kUnknownDimension);
  for (const KnownSize dim : *dims) {
    const auto at = Dimension(dim.constant(), *call.rank(0));
    if (!at) return call.Unclear(kUnknownDimension);
    if (*at == state.axis) return call.Mix(state, "puts rows in each other's place");
  }
  call.Give(state);
}

// Of the last two dimensions, by where the elements are.
void Triangle(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  if (call.in(0).axis + 2 >= *call.rank(0)) return call.Unclear(kAxis);
  call.Give(call.in(0));
}

void Join(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState all = JoinOfElements(call.in(0));
  if (!all.is_rows()) return call.Unclear("joins rows with what is the same for all of them");
  const std::optional<size_t> rank = call.facts.out().rank();
  const auto dim = rank ? DimensionNamed(call, "dim", *rank) : std::nullopt;
  if (!dim) return call.Unclear(kUnknownDimension);
  if (*dim == all.axis) return call.Unclear("puts batches one behind the other");
  bool of_inputs = false;
  for (const BatchState& element : call.in(0).elements) of_inputs |= element.of_inputs;
  call.Give(BatchState::Rows(all.axis, all.per_row, all.of_inputs || of_inputs, all.outer));
}

void Stack(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState all = JoinOfElements(call.in(0));
  if (!all.is_rows()) return call.Unclear("joins rows with what is the same for all of them");
  const std::optional<size_t> rank = call.facts.out().rank();
  const auto dim = rank ? DimensionNamed(call, "dim", *rank) : std::nullopt;
  if (!dim) return call.Unclear(kUnknownDimension);
  bool of_inputs = false;
  for (const BatchState& element : call.in(0).elements) of_inputs |= element.of_inputs;
  const size_t axis = all.axis + (*dim <= all.axis ? 1 : 0);
  call.Give(BatchState::Rows(axis, all.per_row, all.of_inputs || of_inputs, all.outer));
}

// By tensors of positions, of which None is all of a dimension.
void Index(BatchCall& call) {
  if (!call.AllClear({0})) return;
  const BatchState &state = call.in(0), &indices = call.in(1);
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  constexpr std::string_view kLooksUp = "looks up rows in a way that is not known";
  const ValueFacts& facts = call.facts.in(1);
  if (!state.is_rows() || !call.rank(0) || indices.kind != Kind::kContainer ||
      facts.elements.size() != indices.elements.size())
    return call.Unclear(kLooksUp);
  std::optional<size_t> first, last;  // that has positions
  size_t count = 0, rank = 0;
  // The numbers of rows, and where they are in what the positions are broadcast to: from its end.
  const bool by_row = state.axis < indices.elements.size() && indices.elements[state.axis].kind == Kind::kRowNumbers;
  const std::optional<size_t> numbers_rank = by_row ? facts.elements[state.axis].rank() : std::optional<size_t>(0);
  if (!numbers_rank || (by_row && (state.per_row != 1 || state.outer != 1))) return call.Unclear(kLooksUp);
  const size_t place = by_row ? *numbers_rank - indices.elements[state.axis].axis : 0;
  for (size_t i = 0; i < indices.elements.size(); ++i) {
    const BatchState& index = indices.elements[i];
    if (index.kind == Kind::kNever) continue;
    const ValueFacts& positions = facts.elements[i];
    const bool are_numbers = positions.dtype == c10::kLong || positions.dtype == c10::kInt;
    if (!positions.rank() || !are_numbers) return call.Unclear(kLooksUp);
    rank = std::max(rank, *positions.rank());
    if (!first) first = i;
    last = i;
    ++count;
    if (i == state.axis && by_row) continue;
    // With the rows' numbers beside them, a row's own positions are looked up in it.
    const bool of_rows = index.is_rows() && by_row && *positions.rank() - index.axis == place;
    const bool for_all = index.is_uniform() && i != state.axis &&
                         (!by_row || *positions.rank() < place || (*positions.sizes)[*positions.rank() - place] == 1);
    if (!of_rows && !for_all) return call.Unclear(kLooksUp);
  }
  if (!first) return call.Unclear(kLooksUp);
  const bool adjacent = *last - *first + 1 == count;
  if (by_row) return call.GiveRows(state, (adjacent ? *first : 0) + rank - place);
  if (adjacent) return call.GiveRows(state, state.axis < *first ? state.axis : state.axis - count + rank);
  size_t before = 0;
  for (size_t i = 0; i < state.axis; ++i) {
    if (i >= indices.elements.size() || indices.elements[i].kind == Kind::kNever) ++before;
  }
  call.GiveRows(state, rank + before);
}

// Along one dimension, by positions of which there is one for each element of the result.
void Gather(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const size_t index = call.facts.find(call.facts.has("index") ? "index" : "indices");
  const BatchState& state = call.in(0);
  const auto dim = call.rank(0) ? DimensionNamed(call, "dim", *call.rank(0)) : std::nullopt;
  if (!dim || index == call.facts.num_inputs()) return call.Unclear(kUnknownDimension);
  const BatchState& positions = call.in(index);
  if (!state.is_rows() || !positions.is_rows() || *dim == state.axis || !AreAlike(state, positions, state.axis))
    return call.Unclear(kAxis);
  call.Give(BatchState::Rows(state.axis, state.per_row, state.of_inputs || positions.of_inputs, state.outer));
}

// A tensor with others, or a number, in some places along one dimension.
void Put(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  BatchState state = call.in(0);
  const auto dim = call.rank(0) ? DimensionNamed(call, "dim", *call.rank(0)) : std::nullopt;
  if (!dim || !state.is_rows() || *dim == state.axis) return call.Unclear(kAxis);
  const bool selects = call.facts.node().kind() == c10::Symbol::fromQualString("aten::select_scatter");
  const size_t axis = state.axis - (selects && *dim < state.axis ? 1 : 0);
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    const BatchState& other = call.in(i);
    if (call.facts.is_tensor_type(i)) {
      if (!other.is_rows() || !AreAlike(state, other, axis)) return call.Unclear("puts into rows what is not of them");
      state.of_inputs |= other.of_inputs;
    } else if (!other.is_uniform()) {
      return call.Unclear(kAxis);
    }
  }
  call.Give(state);
}

void OneHot(BatchCall& call) {
  if (!IsFirstRows(call)) return;
  if (!call.sizes.algebra().IsAtLeast(call.facts.computed("num_classes"), 1))
    return call.Unclear("has as many classes as the largest of all rows says");
  call.Give(call.in(0));
}

}  // namespace hearth::batch
