// What joins tensors and what picks elements of them by position.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/gather_rules.h"
#include "jit/definitions/place_rules.h"
#include "jit/definitions/pointwise_facts.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// Dtype and device that all elements of the list have in common.
ValueFacts CommonElement(const ValueFacts& list) {
  ValueFacts common;
  common.kind = Kind::kTensor;
  if (list.kind != Kind::kList || list.elements.empty()) return common;
  common = list.elements.front();
  for (const ValueFacts& element : list.elements) {
    common = Join(common, element);
    if (!element.is_tensor()) common.sizes.reset();
  }
  return common;
}

// Of tensors of one rank that must have the same sizes: constants where there is one.
KnownSizes CommonSizes(const ValueFacts& list) {
  KnownSizes sizes = *list.elements.front().sizes;
  for (const ValueFacts& element : list.elements) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const KnownSize other = (*element.sizes)[i];
      if (!sizes[i].is_known() || (!sizes[i] && other)) sizes[i] = other;
    }
  }
  return sizes;
}

// It is in the format that all parts suggest, the default one if they do not agree.
StrideOrder OrderOfConcatenation(Call& call, const std::vector<ValueFacts>& parts, const ValueFacts& common,
                                 std::optional<int64_t> dim) {
  if (!common.rank() || !common.plain) return {};
  const auto suggests = [&](c10::MemoryFormat format) {
    return [&, format](const ValueFacts& part) { return SuggestedFormat(call.sizes(), part) == format; };
  };
  if (std::ranges::any_of(parts, suggests(c10::MemoryFormat::Contiguous))) return StrideOrder::Default(true);
  if (std::ranges::all_of(parts, suggests(c10::MemoryFormat::ChannelsLast))) return StrideOrder::ChannelsLast(true);
  if (std::ranges::all_of(parts, suggests(c10::MemoryFormat::ChannelsLast3d))) return StrideOrder::ChannelsLast3d(true);
  // Parts of several channels each suggest another format than their own only where all are of one pixel, or have an
  // odd stride in a dimension of size 1, which no operator gives its result.
  const bool of_channels =
      *common.rank() == 4 && dim && Dimension(dim, 4) == 1u &&
      std::ranges::all_of(parts, [&](const ValueFacts& part) { return call.sizes().IsAtLeast((*part.sizes)[1], 2); });
  const bool images = common.contiguous() || common.order.is_channels_last();
  return of_channels && images ? common.order.Inexact() : StrideOrder();
}

void Concatenate(Call& call, std::optional<int64_t> dim) {
  const ValueFacts& list = call.in(0);
  ValueFacts common = CommonElement(list);
  if (!common.is_tensor()) return;
  std::optional<KnownSizes> sizes = common.sizes;
  if (sizes && !sizes->empty()) {
    const auto at = Dimension(dim, sizes->size());
    if (at) {
      sizes = CommonSizes(list);
      KnownSize total = 0;
      for (const ValueFacts& element : list.elements) total = call.sizes().Add(total, (*element.sizes)[*at]);
      (*sizes)[*at] = total;
    } else {
      sizes = UnknownSizes(sizes->size());
    }
  }
  call.Give(0, common, common.dtype, std::move(sizes));
  call.GiveOrder(OrderOfConcatenation(call, list.elements, common, dim));
}

void Concatenate(Call& call) { Concatenate(call, call.number("dim")); }
// Of tensors that all have the dimension along which they are joined.
void StackAlong(Call& call) {
  const std::optional<size_t> rank = CommonElement(call.in(0)).rank();
  const std::optional<size_t> dim = rank ? DimensionOfJoin(call, *rank) : std::nullopt;
  if (dim) Concatenate(call, static_cast<int64_t>(*dim));
}

// Some channels of what concatenation gives, in the same format.
void ShuffleChannels(Call& call) {
  const ValueFacts common = CommonElement(call.in(0));
  const KnownSize count = call.computed("count");
  if (!common.is_tensor() || common.rank() != 4u || !common.plain || common.dtype != c10::kFloat) return;
  KnownSizes sizes = CommonSizes(call.in(0));
  sizes[1] = count;
  call.Give(0, common, common.dtype, std::move(sizes));
  call.GiveOrder(OrderOfConcatenation(call, call.in(0).elements, common, 1));
}

// Pixels that become blocks of pixels, without those at both ends.
void SpreadChannels(Call& call) {
  const auto factors = call.numbers("factors"), first = call.numbers("first"), last = call.numbers("last");
  const ValueFacts& images = call.in(0);
  if (!images.is_tensor() || images.rank() != 4u || !factors || !first || !last) return;
  SizeAlgebra& algebra = call.sizes();
  KnownSizes sizes = *images.sizes;
  sizes[1] = algebra.Divide(sizes[1], algebra.Multiply((*factors)[0], (*factors)[1]));
  for (const size_t side : {0, 1}) {
    const KnownSize all = algebra.Multiply(sizes[side + 2], (*factors)[side]);
    sizes[side + 2] = algebra.Subtract(algebra.Subtract(all, (*first)[side]), (*last)[side]);
  }
  call.Give(0, images, images.dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::ChannelsLast(true));
}

void Stack(Call& call) {
  const ValueFacts& list = call.in(0);
  ValueFacts common = CommonElement(list);
  std::optional<KnownSizes> sizes = common.sizes;
  const auto dim = call.number("dim");
  std::optional<size_t> at;
  if (sizes) {
    at = Dimension(dim, sizes->size() + 1);
    if (at) {
      if (!list.elements.empty()) sizes = CommonSizes(list);
      sizes->insert(sizes->begin() + *at, static_cast<int64_t>(list.elements.size()));
    } else {
      sizes = UnknownSizes(sizes->size() + 1);
    }
  }
  call.Give(0, common, common.dtype, std::move(sizes));
  if (!at) return;
  const size_t rank = common.sizes->size();
  if (*at < rank) {
    // A view of the concatenation along the dimension that is there.
    const StrideOrder joined = OrderOfConcatenation(call, list.elements, common, static_cast<int64_t>(*at));
    return call.GiveOrder((joined.is_default() ? joined : joined.Inexact()).Inserted(*at, rank));
  }
  // Along a dimension that each gets.
  std::vector<ValueFacts> parts = list.elements;
  for (ValueFacts& part : parts) {
    part.part_order = part.nested().Inserted(*at);
    part.order = part.order.Inserted(*at, part.sizes->size());
    part.suggested_format.reset();
    part.sizes->insert(part.sizes->begin() + static_cast<ptrdiff_t>(*at), 1);
  }
  const auto suggests_default = [&](const ValueFacts& part) {
    return SuggestedFormat(call.sizes(), part) == c10::MemoryFormat::Contiguous;
  };
  if (std::ranges::any_of(parts, suggests_default)) call.GiveOrder(StrideOrder::Default(true));
}

// Where tensors of ids stand in an index, and the sizes to which they are broadcast.
struct PlacesOfIds {
  size_t first = 0, count = 0;
  bool are_together = true;  // in neighbouring dimensions
  bool are_contiguous = true;
  bool are_exact = true;  // likewise in the strides of dimensions of one
  std::optional<KnownSizes> sizes;
};

// Null of an index with others than ids.
std::optional<PlacesOfIds> FindIds(SizeAlgebra& algebra, const ValueFacts& index) {
  PlacesOfIds places;
  for (size_t i = 0; i < index.elements.size(); ++i) {
    const ValueFacts& ids = index.elements[i];
    if (ids.kind == Kind::kNone) continue;
    if (!ids.is_tensor() || !ids.rank() || (ids.dtype != c10::kLong && ids.dtype != c10::kInt)) return {};
    if (places.count == 0) places.first = i;
    places.are_together &= places.first + places.count == i;
    places.are_contiguous &= ids.contiguous();
    places.are_exact &= ids.default_strides();
    places.sizes = places.count == 0 ? ids.sizes : Broadcast(algebra, places.sizes, ids.sizes);
    ++places.count;
  }
  return places;
}

void Index(Call& call) {
  const std::optional<KnownSizes>& of_tensor = call.in(0).sizes;
  const bool is_known = call.in(1).kind == Kind::kList && of_tensor && call.in(1).elements.size() <= of_tensor->size();
  const std::optional<PlacesOfIds> ids = is_known ? FindIds(call.sizes(), call.in(1)) : std::nullopt;
  std::optional<KnownSizes> sizes;
  if (ids && ids->count > 0 && ids->sizes) {
    // What several dimensions that are apart give stands before all others.
    const size_t at = ids->are_together ? ids->first : 0;
    sizes.emplace();
    for (size_t i = 0; i < of_tensor->size(); ++i) {
      const bool is_kept = i >= call.in(1).elements.size() || call.in(1).elements[i].kind == Kind::kNone;
      if (is_kept) sizes->push_back((*of_tensor)[i]);
    }
    sizes->insert(sizes->begin() + static_cast<std::ptrdiff_t>(at), ids->sizes->begin(), ids->sizes->end());
  }
  const bool in_order = sizes && ids->are_together && ids->are_contiguous && call.in(0).contiguous();
  const bool is_exact = in_order && ids->are_exact && call.in(0).default_strides();
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  // Of operands in that order; the strides of dimensions of one element may be any where these have odd ones.
  if (in_order) call.GiveOrder(StrideOrder::Default(is_exact));
}
void IndexSelect(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype,
            WithSize(call.in(0).sizes, call.number("dim"),
                     call.in(2).rank() == 1u ? call.in(2).sizes->front() : KnownSize()));
  call.GiveOrder(StrideOrder::Default(true));
}
void PickAlong(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(2).sizes);
  call.GiveOrder(StrideOrder::Default(true));
}
// The same of operands that are broadcast along the other dimensions.
void TakeAlong(Call& call) {
  std::optional<KnownSizes> sizes;
  if (call.in(0).rank() && call.in(0).rank() == call.in(1).rank() && !call.is_none("dim")) {
    const auto of_ids = WithSize(call.in(1).sizes, call.number("dim"), KnownSize(1));
    sizes = Broadcast(call.sizes(), WithSize(call.in(0).sizes, call.number("dim"), KnownSize(1)), of_ids);
    const auto dim = Dimension(call.number("dim"), call.in(1).sizes->size());
    sizes = WithSize(std::move(sizes), call.number("dim"), dim ? (*call.in(1).sizes)[*dim] : KnownSize());
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}
// Its first operand, some of whose elements are others.
void Scatter(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  call.GiveOrder(StrideOrder::Default(true));
}
// The same with the strides of that.
void Put(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  call.GiveOrder(call.in(0).order);
}
void MaskedSelect(Call& call) { call.Give(0, call.in(0), call.in(0).dtype, UnknownSizes(1)); }
void Nonzero(Call& call) {
  std::optional<KnownSizes> sizes = UnknownSizes(2);
  if (call.in(0).rank()) sizes->back() = static_cast<int64_t>(*call.in(0).rank());
  call.Give(0, call.in(0), c10::kLong, std::move(sizes));
}
void Sorted(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (call.has("k")) sizes = WithSize(std::move(sizes), call.number("dim"), call.computed("k"));
  if (call.num_outputs() != 2) return;
  call.Give(0, call.in(0), call.in(0).dtype, sizes);
  call.Give(1, call.in(0), c10::kLong, sizes);
}
void Repeat(Call& call) {
  std::optional<KnownSizes> repeats = call.numbers(call.has("dims") ? "dims" : "repeats");
  // Tiling may be told of fewer dimensions than there are.
  const size_t rank = call.in(0).rank().value_or(0);
  if (repeats && call.has("dims") && repeats->size() < rank)
    repeats->insert(repeats->begin(), rank - repeats->size(), 1);
  std::optional<KnownSizes> sizes = repeats ? UnknownSizes(repeats->size()) : std::nullopt;
  if (sizes && call.in(0).rank() && *call.in(0).rank() <= sizes->size()) {
    const size_t extra = sizes->size() - *call.in(0).rank();
    for (size_t i = 0; i < sizes->size(); ++i) {
      const KnownSize size = i < extra ? KnownSize(1) : (*call.in(0).sizes)[i - extra];
      (*sizes)[i] = call.sizes().Multiply(size, (*repeats)[i]);
    }
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

void RepeatElements(Call& call) {
  if (!call.has("self") || call.num_inputs() < 3) return;
  std::optional<KnownSizes> sizes = UnknownSizes(1);
  if (!call.is_none("dim")) {
    const auto dim = call.in(0).rank() ? Dimension(call.number("dim"), *call.in(0).rank()) : std::nullopt;
    KnownSize size;
    if (dim && *call.in(0).rank() > 0)
      size = call.sizes().Multiply((*call.in(0).sizes)[*dim], call.computed("repeats"));
    sizes = WithSize(call.in(0).sizes, call.number("dim"), size);
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  if (!call.is_tensor_type(1)) call.GiveOrder(StrideOrder::Default(true));
}
void OneHot(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const KnownSize classes = call.computed("num_classes");
  if (sizes) sizes->push_back(call.sizes().IsAtLeast(classes, 1) ? classes : KnownSize());
  call.Give(0, call.in(0), c10::kLong, std::move(sizes));
}
// Half of a dimension weighs the other half.
void Gated(Call& call) {
  const auto dim = call.in(0).rank() ? Dimension(call.number("dim"), *call.in(0).rank()) : std::nullopt;
  KnownSize half;
  if (dim && *call.in(0).rank() > 0) half = call.sizes().Divide((*call.in(0).sizes)[*dim], 2);
  call.Give(0, call.in(0), call.in(0).dtype, WithSize(call.in(0).sizes, call.number("dim"), half));
  if (!call.out().sizes || !call.in(0).plain) return;
  // As both halves are nested, where their sizes leave only one order.
  const StrideOrder& order = call.in(0).order;
  if (order.is_known() && AreStridesDistinct(call.sizes(), *call.out().sizes, order)) call.GiveOrder(order);
}
// What LibTorch copies into a tensor in the format that the input suggests, on a CPU; elsewhere it may be a view.
void GiveOrderOfShuffled(Call& call) {
  const ValueFacts& in = call.in(0);
  if (!call.out().sizes || !in.device || !in.device->is_cpu()) return;
  const auto format = *in.rank() > 3 ? SuggestedFormat(call.sizes(), in) : std::optional(c10::MemoryFormat::Contiguous);
  if (format && format != c10::MemoryFormat::ChannelsLast3d) call.GiveOrder(StrideOrder::OfFormat(*format));
}
// Of so many channels and sides. What has no elements stays as it is.
void GiveShuffledPixels(Call& call, KnownSize channels, KnownSize height, KnownSize width) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto has_elements = [&](KnownSize size) { return call.sizes().IsAtLeast(size, 1); };
  if (sizes && std::ranges::all_of(*sizes, has_elements)) {
    std::ranges::copy(std::initializer_list<KnownSize>{channels, height, width}, sizes->end() - 3);
  } else {
    sizes = UnknownSizes(call.in(0).rank());
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  GiveOrderOfShuffled(call);
}
// Channels become pixels, so many times as many along each side.
void ShufflePixels(Call& call) {
  if (call.in(0).rank().value_or(0) < 3) return call.Give(0, call.in(0), call.in(0).dtype, {});
  const KnownSize* const last = &call.in(0).sizes->back();
  const KnownSize factor = call.computed("upscale_factor");
  SizeAlgebra& sizes = call.sizes();
  GiveShuffledPixels(call, sizes.Divide(last[-2], sizes.Multiply(factor, factor)), sizes.Multiply(last[-1], factor),
                     sizes.Multiply(last[0], factor));
}
// The other way round.
void UnshufflePixels(Call& call) {
  if (call.in(0).rank().value_or(0) < 3) return call.Give(0, call.in(0), call.in(0).dtype, {});
  const KnownSize* const last = &call.in(0).sizes->back();
  const KnownSize factor = call.computed("downscale_factor");
  SizeAlgebra& sizes = call.sizes();
  GiveShuffledPixels(call, sizes.Multiply(last[-2], sizes.Multiply(factor, factor)), sizes.Divide(last[-1], factor),
                     sizes.Divide(last[0], factor));
}
void ShuffleGroups(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  GiveOrderOfShuffled(call);
}
void Unfold(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = sizes ? Dimension(call.number("dimension"), sizes->size()) : std::nullopt;
  if (dim && !sizes->empty()) {
    const KnownSize size = call.computed("size"), step = call.computed("step");
    const KnownSize room = call.sizes().Subtract((*sizes)[*dim], size);
    const bool fits = call.sizes().IsAtLeast(room, 0) && call.sizes().IsAtLeast(step, 1);
    (*sizes)[*dim] = fits ? call.sizes().Add(call.sizes().Divide(room, step), 1) : KnownSize();
    sizes->push_back(size);
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
}
void Unique(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, UnknownSizes(1));
  for (size_t i = 1; i < call.num_outputs(); ++i) call.Give(i, call.in(0), c10::kLong, {});
}
void Outer(Call& call) {
  const bool vectors = call.in(0).rank() == 1u && call.in(1).rank() == 1u;
  std::optional<KnownSizes> sizes;
  if (vectors) sizes = KnownSizes{call.in(0).sizes->front(), call.in(1).sizes->front()};
  call.Give(0, call.in(0), Promoted(call, {0, 1}), std::move(sizes));
}

// The same, perhaps in another order in memory.
void LikeReordered(Call& call) {
  facts::Like(call);
  call.out().order = {};
}
// On a GPU it gives the default order, on a CPU one that depends on more.
void Roll(Call& call) {
  LikeReordered(call);
  if (call.in(0).is_tensor() && call.in(0).device && call.in(0).device->is_cuda())
    call.GiveOrder(StrideOrder::Default(true));
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::tril", .kind = kIndexing, .facts = facts::Like, .place = &place::kLowerTriangle, .in_place = true},
    {.name = "aten::triu", .kind = kIndexing, .facts = facts::Like, .place = &place::kUpperTriangle, .in_place = true},
    {.name = "aten::roll", .kind = kIndexing, .facts = Roll, .place = &place::kRoll},
    {.name = "aten::flip", .kind = kIndexing, .facts = facts::LikeInOrder, .place = &place::kFlip},
    {.name = "aten::fliplr", .kind = kIndexing, .facts = facts::LikeInOrder, .place = &place::kFlip},
    {.name = "aten::flipud", .kind = kIndexing, .facts = facts::LikeInOrder, .place = &place::kFlip},
    {.name = "aten::rot90", .kind = kIndexing, .facts = LikeReordered, .hides_aliases = true},
    {.name = "aten::masked_select", .kind = kIndexing, .facts = MaskedSelect},
    {.name = "aten::repeat_interleave", .kind = kIndexing, .facts = RepeatElements, .place = &place::kRepeatElements},
    {.name = "aten::one_hot", .kind = kIndexing, .facts = OneHot},
    {.name = "aten::glu", .kind = kIndexing, .facts = Gated, .place = &place::kGated},
    {.name = "aten::pixel_shuffle", .kind = kIndexing, .facts = ShufflePixels, .place = &place::kShufflePixels},
    {.name = "aten::pixel_unshuffle", .kind = kIndexing, .facts = UnshufflePixels, .place = &place::kUnshufflePixels},
    {.name = "aten::unfold", .kind = kView, .facts = Unfold},
    {.name = "aten::_unique2", .kind = kIndexing, .facts = Unique},
    {.name = "aten::outer", .kind = kProduct, .facts = Outer},
    {.name = "aten::cat",
     .kind = kJoin,
     .facts = Concatenate,
     .place = &place::kConcatenate,
     .into = {"", "aten::cat", "out"},
     .autocast = AutocastPolicy::kWidest},
    {.name = "aten::concat", .kind = kJoin, .facts = Concatenate, .place = &place::kConcatenate},
    {.name = "aten::concatenate", .kind = kJoin, .facts = Concatenate, .place = &place::kConcatenate},
    {.name = "hearth::channel_shuffle", .kind = kJoin, .facts = ShuffleChannels},
    {.name = "hearth::spread_channels", .kind = kIndexing, .facts = SpreadChannels},
    {.name = "aten::stack", .kind = kJoin, .facts = Stack, .autocast = AutocastPolicy::kWidest},
    {.name = "aten::index", .kind = kIndexing, .facts = Index, .gather = gather::ByIndex},
    {.name = "aten::index_select", .kind = kIndexing, .facts = IndexSelect, .gather = gather::ByIndexSelect},
    {.name = "aten::gather", .kind = kIndexing, .facts = PickAlong, .gather = gather::ByGather},
    {.name = "aten::take_along_dim", .kind = kIndexing, .facts = TakeAlong, .gather = gather::ByTakeAlongDim},
    {.name = "aten::nonzero", .kind = kIndexing, .facts = Nonzero},
    {.name = "aten::argwhere", .kind = kIndexing, .facts = Nonzero},
    {.name = "aten::sort", .kind = kIndexing, .facts = Sorted},
    {.name = "aten::topk", .kind = kIndexing, .facts = Sorted},
    {.name = "aten::repeat", .kind = kIndexing, .facts = Repeat, .place = &place::kRepeat},
    {.name = "aten::tile", .kind = kIndexing, .facts = Repeat, .place = &place::kRepeat},
    {.name = "aten::index_add", .kind = kIndexing, .facts = Scatter, .in_place = true},
    {.name = "aten::index_copy", .kind = kIndexing, .facts = Scatter, .in_place = true},
    {.name = "aten::index_fill", .kind = kIndexing, .facts = Put, .in_place = true},
    {.name = "aten::slice_scatter", .kind = kIndexing, .facts = Put, .place = &place::kSliceScatter},
    {.name = "aten::select_scatter", .kind = kIndexing, .facts = Put},
    {.name = "aten::index_put", .kind = kIndexing, .facts = Put, .in_place = true, .autocast = AutocastPolicy::kWidest},
    {.name = "aten::masked_scatter", .kind = kIndexing, .facts = Scatter, .in_place = true},
    {.name = "aten::scatter", .kind = kIndexing, .facts = Scatter, .in_place = true},
    {.name = "aten::scatter_add", .kind = kIndexing, .facts = Scatter, .in_place = true},
    {.name = "aten::vstack", .kind = kJoin, .facts = StackAlong, .place = &place::kConcatenate},
    {.name = "aten::hstack", .kind = kJoin, .facts = StackAlong, .place = &place::kConcatenate},
    {.name = "aten::dstack", .kind = kJoin, .facts = StackAlong, .place = &place::kConcatenate},
    {.name = "aten::column_stack", .kind = kJoin, .facts = StackAlong, .place = &place::kConcatenate},
    {.name = "aten::cartesian_prod", .kind = kJoin, .hides_aliases = true},
    {.name = "aten::combinations", .kind = kJoin, .hides_aliases = true},
    {.name = "aten::block_diag", .kind = kJoin, .hides_aliases = true},
    {.name = "aten::channel_shuffle",
     .kind = kIndexing,
     .facts = ShuffleGroups,
     .place = &place::kShuffleChannels,
     .hides_aliases = true},
    {.name = "aten::native_channel_shuffle",
     .kind = kIndexing,
     .facts = ShuffleGroups,
     .place = &place::kShuffleChannels,
     .hides_aliases = true},
    {.name = "aten::as_strided_copy", .kind = kIndexing, .looks_at_storage = true},
    {.name = "aten::as_strided_scatter", .kind = kIndexing, .looks_at_storage = true},
};

}  // namespace

std::span<const OperatorDefinition> IndexingDefinitions() { return kDefinitions; }

}  // namespace hearth
