#include <ATen/TensorUtils.h>
#include <c10/core/MemoryFormat.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

constexpr size_t kMaxLength = 64;

// `keeps_default`: dimensions that are nested as they are numbered stay so.
void ViewAs(Call& call, std::optional<KnownSizes> sizes, bool keeps_default = false) {
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  if (keeps_default && call.in(0).contiguous()) call.GiveOrder(call.in(0).order);
}
// Of a view in other sizes of a tensor whose dimensions are nested as they are numbered: so are the view's, and there
// is a gap in it only where there may be one in the tensor. Of a copy that holds, too.
PartOrder DefaultOrderOfView(SizeAlgebra& algebra, const ValueFacts& from, const KnownSizes& sizes, bool may_copy) {
  const PartOrder nested = from.nested();
  const std::span<const PartOrder::Level> all = nested.levels();
  std::vector<PartOrder::Level> view(sizes.size());
  // The dimensions fall into groups of as many elements, in each of which there are gaps or none.
  size_t old_end = all.size(), new_end = sizes.size();
  const auto end_group = [&](size_t old_begin, size_t new_begin) {
    const std::span<const PartOrder::Level> group = all.subspan(old_begin, old_end - old_begin);
    const bool within =
        !group.empty() && std::ranges::any_of(group.first(group.size() - 1), &PartOrder::Level::has_gap);
    // A new dimension of one element has the stride that what is within it asks for; the innermost one has that of the
    // elements.
    const bool is_innermost = old_end == all.size() && !all.empty();
    const bool ends_in_gap = group.empty() ? is_innermost && all.back().has_gap : group.back().has_gap;
    int64_t stride = within || group.empty() ? 0 : group.back().stride;
    for (size_t i = new_end; i-- > new_begin;) {
      view[i] = {static_cast<uint8_t>(i), within || (i + 1 == new_end && ends_in_gap), stride};
      stride *= sizes[i].value_or(0);
    }
    old_end = old_begin;
    new_end = new_begin;
  };
  for (size_t new_begin = sizes.size(); new_begin-- > 1;) {
    const KnownSize elements = Product(algebra, sizes, new_begin, sizes.size());
    for (size_t old_begin = old_end + 1; elements.is_known() && old_begin-- > 0;) {
      if (Product(algebra, *from.sizes, old_begin, from.sizes->size()) != elements) continue;
      end_group(old_begin, new_begin);
      break;
    }
  }
  end_group(0, 0);
  // A copy has other strides, where there may be gaps.
  if (may_copy && std::ranges::any_of(view, &PartOrder::Level::has_gap)) {
    for (PartOrder::Level& level : view) level.stride = 0;
  }
  return PartOrder::Of(view, nested.is_exact());
}

// Whether all sizes are known of a tensor that is not contiguous, and how it lies.
bool HasStridesToView(const ValueFacts& from) {
  return from.plain && from.order.is_known() && !from.contiguous() && ConstantsOf(from.sizes).has_value();
}
// Of such a tensor; null: there is no view of it in these sizes.
std::optional<std::vector<int64_t>> StridesOfView(const ValueFacts& from, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t> old_sizes = *ConstantsOf(from.sizes), old_strides = from.order.Strides(old_sizes);
  return at::detail::computeStride(at::IntArrayRef(old_sizes), at::IntArrayRef(old_strides), at::IntArrayRef(sizes));
}
// Of a view in other sizes of a tensor that is not contiguous: as LibTorch finds its strides, which needs all sizes.
// Where there is no such view and the operator `may_copy`, it gives new memory.
void GiveOrderOfView(Call& call, bool may_copy) {
  const ValueFacts& from = call.in(0);
  if (!from.contiguous() && from.nested().is_default() && call.out().sizes) {
    return call.GivePartOrder(DefaultOrderOfView(call.sizes(), from, *call.out().sizes, may_copy));
  }
  const auto sizes = ConstantsOf(call.out().sizes);
  if (!HasStridesToView(from) || !sizes) return;
  const std::optional<std::vector<int64_t>> strides = StridesOfView(from, *sizes);
  if (!strides) {
    if (may_copy) call.GiveOrder(StrideOrder::Default(true));
    return;
  }
  const StrideOrder order = StrideOrder::OfStrides(*sizes, *strides);
  call.GiveOrder(from.order.is_exact() ? order : order.Inexact());
  if (!from.order.is_exact() || sizes->size() != 4) return;
  const bool is_channels_last = c10::is_channels_last_strides_2d(at::IntArrayRef(*sizes), at::IntArrayRef(*strides));
  call.out().suggested_format = is_channels_last ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::Contiguous;
}
// Whose dimension i is dimension from[i] of the input.
void PermutedAs(Call& call, const std::vector<size_t>& from) {
  KnownSizes sizes;
  for (const size_t dim : from) sizes.push_back((*call.in(0).sizes)[dim]);
  ViewAs(call, std::move(sizes));
  call.GivePartOrder(call.in(0).nested().Permuted(from));
}

// Of the sizes that a view is asked for, each what it will be; at most one is computed from the others, be it because
// it is -1 or because it may be.
KnownSizes SizesOfView(SizeAlgebra& algebra, KnownSizes asked, const std::optional<KnownSizes>& from) {
  KnownSize* rest = nullptr;
  KnownSize others = 1;
  bool one_is_open = true;
  for (KnownSize& size : asked) {
    if (algebra.IsAtLeast(size, 0)) {
      others = algebra.Multiply(others, size);
      continue;
    }
    one_is_open &= rest == nullptr;
    rest = &size;
  }
  if (rest == nullptr) return asked;
  const bool is_rest = *rest == -1;
  for (KnownSize& size : asked) {
    if (!algebra.IsAtLeast(size, 0)) size = {};
  }
  // A number that may be -1 is only told from the others where these are not 0.
  if (!one_is_open || !from || (!is_rest && !algebra.IsAtLeast(others, 1))) return asked;
  *rest = algebra.Divide(Product(algebra, *from, 0, from->size()), others);
  return asked;
}

void View(Call& call) {
  if (call.num_inputs() != 2 || call.node().input(1)->type()->kind() != c10::TypeKind::ListType) return;
  std::optional<KnownSizes> sizes = call.numbers(call.has("size") ? "size" : "shape");
  if (sizes) sizes = SizesOfView(call.sizes(), std::move(*sizes), call.in(0).sizes);
  ViewAs(call, std::move(sizes), true);
  GiveOrderOfView(call, call.node().kind() == c10::aten::reshape);
}

void Flatten(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  const auto start = call.number("start_dim"), end = call.number("end_dim");
  if (!sizes || !start || !end) return ViewAs(call, {}, true);
  if (sizes->empty()) return ViewAs(call, KnownSizes{1}, true);
  const auto from = Dimension(*start, sizes->size()), to = Dimension(*end, sizes->size());
  if (!from || !to || *from > *to) return;
  KnownSizes flat(sizes->begin(), sizes->begin() + *from);
  flat.push_back(Product(call.sizes(), *sizes, *from, *to + 1));
  flat.insert(flat.end(), sizes->begin() + *to + 1, sizes->end());
  ViewAs(call, std::move(flat), true);
  if (*from != *to) return GiveOrderOfView(call, true);
  // Its operand itself.
  call.GivePartOrder(call.in(0).nested());
  call.out().suggested_format = call.in(0).suggested_format;
}

void Unflatten(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  const std::optional<KnownSizes> parts = call.numbers("sizes");
  const auto at = sizes && dim ? Dimension(*dim, sizes->size()) : std::nullopt;
  if (!at || !parts || sizes->empty()) return ViewAs(call, {}, true);
  KnownSizes apart(sizes->begin(), sizes->begin() + *at);
  const KnownSizes whole = {(*sizes)[*at]};
  for (const KnownSize part : SizesOfView(call.sizes(), *parts, whole)) apart.push_back(part);
  apart.insert(apart.end(), sizes->begin() + *at + 1, sizes->end());
  ViewAs(call, std::move(apart), true);
  GiveOrderOfView(call, false);
}

void Unsqueeze(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  if (sizes && dim) {
    const auto at = Dimension(dim, sizes->size() + 1);
    if (!at) return;
    sizes->insert(sizes->begin() + *at, 1);
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size() + 1);
  }
  const std::optional<KnownSizes>& before = call.in(0).sizes;
  const std::optional<size_t> at = before && dim ? Dimension(dim, before->size() + 1) : std::nullopt;
  ViewAs(call, std::move(sizes));
  if (!at) return;
  call.GivePartOrder(call.in(0).nested().Inserted(*at));
  // The channel that it has lies as far from another as all of its pixels together.
  const bool is_of_channels = *at == 1 && before->size() == 3 && call.in(0).contiguous();
  if (is_of_channels && call.sizes().IsAtLeast((*before)[1], 2) && call.sizes().IsAtLeast((*before)[2], 2))
    call.out().suggested_format = c10::MemoryFormat::Contiguous;
}

bool IsNotOne(Call& call, KnownSize size) { return call.sizes().AreEqual(size, 1) == false; }

void Squeeze(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  if (sizes && call.num_inputs() == 1) {
    const auto may_be_one = [&](const KnownSize& size) { return size != 1 && !IsNotOne(call, size); };
    if (std::any_of(sizes->begin(), sizes->end(), may_be_one)) return ViewAs(call, {});
    std::erase(*sizes, KnownSize(1));
  } else if (sizes && dim && !sizes->empty()) {
    const auto at = Dimension(dim, sizes->size());
    if (!at || ((*sizes)[*at] != 1 && !IsNotOne(call, (*sizes)[*at]))) return ViewAs(call, {});
    const bool is_one = (*sizes)[*at] == 1;
    if (is_one) sizes->erase(sizes->begin() + *at);
    ViewAs(call, std::move(sizes));
    return call.GivePartOrder(is_one ? call.in(0).nested().Removed(*at) : call.in(0).nested());
  } else if (!sizes || !sizes->empty()) {
    return ViewAs(call, {});
  }
  ViewAs(call, std::move(sizes), true);
}

std::vector<size_t> InOrder(size_t rank) {
  std::vector<size_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

void Transpose(Call& call) {
  const std::optional<size_t> rank = call.in(0).rank();
  const auto a = call.number("dim0"), b = call.number("dim1");
  if (!rank || !a || !b) return ViewAs(call, UnknownSizes(rank));
  const auto first = Dimension(*a, *rank), second = Dimension(*b, *rank);
  if (!first || !second) return;
  std::vector<size_t> from = InOrder(*rank);
  if (!from.empty()) std::swap(from[*first], from[*second]);
  PermutedAs(call, from);
}

void TransposeMatrix(Call& call) {
  if (!call.in(0).rank()) return ViewAs(call, {});
  std::vector<size_t> from = InOrder(*call.in(0).rank());
  std::ranges::reverse(from);
  PermutedAs(call, from);
}

void Permute(Call& call) {
  const std::optional<size_t> rank = call.in(0).rank();
  const auto dims = call.numbers("dims");
  if (!rank || !dims || dims->size() != *rank) return ViewAs(call, UnknownSizes(rank));
  std::vector<size_t> from;
  for (const KnownSize dim : *dims) {
    const auto at = Dimension(dim.constant(), *rank);
    if (!at) return ViewAs(call, UnknownSizes(rank));
    from.push_back(*at);
  }
  PermutedAs(call, from);
}

void Expand(Call& call) {
  std::optional<KnownSizes> sizes = call.numbers("size");
  const std::optional<KnownSizes>& from = call.in(0).sizes;
  if (sizes && from && from->size() <= sizes->size()) {
    const size_t extra = sizes->size() - from->size();
    for (size_t i = 0; i < sizes->size(); ++i) {
      KnownSize& size = (*sizes)[i];
      const KnownSize before = i < extra ? KnownSize(1) : (*from)[i - extra];
      if (size == -1) {
        size = before;
      } else if (!call.sizes().IsAtLeast(size, 0)) {
        // Only what has the size 1 is expanded.
        size = call.sizes().IsAtLeast(before, 2) ? before : KnownSize();
      }
    }
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  ViewAs(call, std::move(sizes));
}

void SizesOfOther(Call& call) { ViewAs(call, call.in(1).sizes); }

// One dimension gone.
std::optional<KnownSizes> Without(const std::optional<KnownSizes>& sizes, std::optional<int64_t> dim) {
  if (!sizes || sizes->empty()) return {};
  if (!dim) return UnknownSizes(sizes->size() - 1);
  const auto at = Dimension(dim, sizes->size());
  if (!at) return {};
  KnownSizes rest = *sizes;
  rest.erase(rest.begin() + *at);
  return rest;
}

// The dimension that the operator is about.
std::optional<size_t> DimensionOf(Call& call) {
  const auto dim = call.number("dim");
  return dim && call.in(0).rank().value_or(0) > 0 ? Dimension(dim, *call.in(0).rank()) : std::nullopt;
}

void Select(Call& call) {
  ViewAs(call, Without(call.in(0).sizes, call.number("dim")));
  if (const auto at = DimensionOf(call)) call.GivePartOrder(call.in(0).nested().Selected(*at));
}
void SliceOfList(Call& call) {
  const ValueFacts& list = call.in(0);
  const KnownSize start = call.is_none("start") ? KnownSize(0) : call.computed("start");
  const KnownSize end = call.is_none("end") ? KnownSize(std::numeric_limits<int64_t>::max()) : call.computed("end");
  const KnownSize step = call.computed("step");
  if (!start || !end || !step || *step < 1) return;
  const auto length = static_cast<int64_t>(*list.length());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + length : at, 0, length); };
  ValueFacts part;
  part.kind = Kind::kList;
  if (list.sizes) part.sizes.emplace();
  for (int64_t i = place(*start); i < place(*end); i += std::min(*step, length)) {
    const auto at = static_cast<size_t>(i);
    if (list.sizes) {
      part.sizes->push_back((*list.sizes)[at]);
    } else {
      part.elements.push_back(list.elements[at]);
    }
  }
  call.out() = std::move(part);
}
// A range of the elements along a dimension.
void ViewOfRange(Call& call, std::optional<int64_t> dim, KnownSize size) {
  ViewAs(call, WithSize(call.in(0).sizes, dim, size));
  if (const auto at = DimensionOf(call)) call.GivePartOrder(call.in(0).nested().Sliced(*at));
}
void Slice(Call& call) {
  if (call.in(0).kind == Kind::kList) return SliceOfList(call);
  const auto dim = call.number("dim");
  const auto at = DimensionOf(call);
  if (!at) return ViewAs(call, WithSize(call.in(0).sizes, dim, {}));
  const KnownSize whole = (*call.in(0).sizes)[*at];
  const KnownSize start = call.is_none("start") ? KnownSize(0) : call.computed("start");
  const KnownSize end =
      call.is_none("end") || call.number("end") == std::numeric_limits<int64_t>::max() ? whole : call.computed("end");
  const KnownSize step = call.computed("step");
  const KnownSize size = SizeOfSlice(call.sizes(), whole, start, end, step);
  if (step == 1) return ViewOfRange(call, dim, size);
  ViewAs(call, WithSize(call.in(0).sizes, dim, size));
  // Where the steps are not even, the last one may reach beyond the dimension.
  const bool is_even = step.value_or(0) >= 1 && call.sizes().Remainder(whole, *step) == 0;
  if (is_even) call.GivePartOrder(call.in(0).nested().Sliced(*at, *step));
}
void Narrow(Call& call) { ViewOfRange(call, call.number("dim"), call.computed("length")); }

void GiveList(Call& call, size_t length, const ValueFacts& element) {
  if (length > kMaxLength) return;
  call.out() = {};
  call.out().kind = Kind::kList;
  call.out().elements.assign(length, element);
}
// Parts of one dimension, one after another.
void GiveParts(Call& call, const KnownSizes& parts) {
  if (parts.size() > kMaxLength) return;
  std::vector<ValueFacts> elements;
  for (const KnownSize part : parts) {
    ViewOfRange(call, call.number("dim"), part);
    elements.push_back(call.out());
  }
  call.out() = {};
  call.out().kind = Kind::kList;
  call.out().elements = std::move(elements);
}
KnownSize SizeOfDimension(Call& call) {
  const auto at = DimensionOf(call);
  return at ? (*call.in(0).sizes)[*at] : KnownSize();
}
// The last part is what is left over.
void GiveEvenParts(Call& call, KnownSize whole, KnownSize part) {
  if (!whole || !part || *whole < 1 || *part < 1 || *whole / *part >= static_cast<int64_t>(kMaxLength)) return;
  KnownSizes parts(static_cast<size_t>(*whole / *part), part);
  if (*whole % *part != 0) parts.push_back(*whole % *part);
  GiveParts(call, parts);
}
void Split(Call& call) {
  std::optional<KnownSizes> parts = call.numbers("split_sizes");
  if (!parts) parts = call.numbers("split_size");
  if (!parts) return;
  if (call.node().input(1)->type()->kind() == c10::TypeKind::ListType) return GiveParts(call, *parts);
  GiveEvenParts(call, SizeOfDimension(call), parts->front());
}
void Chunk(Call& call) {
  const KnownSize whole = SizeOfDimension(call);
  const auto chunks = call.number("chunks");
  if (!chunks || *chunks < 1 || *chunks > static_cast<int64_t>(kMaxLength)) return;
  if (whole) return GiveEvenParts(call, whole, (*whole + *chunks - 1) / *chunks);
  if (call.sizes().Remainder(whole, *chunks) != 0) return;
  GiveParts(call, KnownSizes(static_cast<size_t>(*chunks), call.sizes().Divide(whole, *chunks)));
}
void Unbind(Call& call) {
  const KnownSize length = SizeOfDimension(call);
  if (!length || *length < 0) return;
  Select(call);
  const ValueFacts element = call.out();
  call.out() = {};
  GiveList(call, static_cast<size_t>(*length), element);
}
void Element(Call& call) {
  const ValueFacts& list = call.in(0);
  const c10::IValue* index = call.constant(size_t{1});
  if ((list.kind != Kind::kList && list.kind != Kind::kTuple) || index == nullptr || !index->isInt()) return;
  const auto at = Dimension(index->toInt(), list.elements.size());
  if (at && *at < list.elements.size()) call.out() = list.elements[*at];
}

void SizesAsList(Call& call) {
  if (!call.in(0).rank() || call.num_inputs() != 1) return;
  call.out().kind = Kind::kList;
  call.out().sizes = call.in(0).sizes;
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::storage_offset", .looks_at_storage = true},
    {.name = "aten::is_set_to", .looks_at_storage = true},
    {.name = "aten::set_", .looks_at_storage = true},
    {.name = "aten::set", .looks_at_storage = true},
    {.name = "aten::_has_same_storage_numel", .looks_at_storage = true},
    {.name = "aten::as_strided_", .looks_at_storage = true},
    {.name = "aten::view", .kind = kView, .facts = View, .only_views = true},
    {.name = "aten::reshape", .kind = kView, .facts = View},
    {.name = "aten::flatten", .kind = kView, .facts = Flatten},
    {.name = "aten::unflatten", .kind = kView, .facts = Unflatten, .only_views = true},
    {.name = "aten::unsqueeze", .kind = kView, .facts = Unsqueeze},
    {.name = "aten::squeeze", .kind = kView, .facts = Squeeze},
    {.name = "aten::transpose", .kind = kView, .facts = Transpose},
    {.name = "aten::swapaxes", .kind = kView, .facts = Transpose},
    {.name = "aten::swapdims", .kind = kView, .facts = Transpose},
    {.name = "aten::t", .kind = kView, .facts = TransposeMatrix},
    {.name = "aten::numpy_T", .kind = kView, .facts = TransposeMatrix},
    {.name = "aten::permute", .kind = kView, .facts = Permute},
    {.name = "aten::expand", .kind = kView, .facts = Expand},
    {.name = "aten::expand_as", .kind = kView, .facts = SizesOfOther},
    {.name = "aten::view_as", .kind = kView, .facts = SizesOfOther, .only_views = true},
    {.name = "aten::reshape_as", .kind = kView, .facts = SizesOfOther},
    {.name = "aten::select", .kind = kView, .facts = Select},
    {.name = "aten::slice", .kind = kView, .facts = Slice, .list = ListRole::kCopy},
    {.name = "aten::narrow", .kind = kView, .facts = Narrow},
    {.name = "aten::split", .kind = kView, .facts = Split},
    {.name = "aten::split_with_sizes", .kind = kView, .facts = Split},
    {.name = "aten::chunk", .kind = kView, .facts = Chunk},
    {.name = "aten::unbind", .kind = kView, .facts = Unbind},
    {.name = "aten::__getitem__",
     .kind = kContainer,
     .facts = Element,
     .number = number::Element,
     .list = ListRole::kTake},
    {.name = "aten::size",
     .kind = kTensorQuery,
     .facts = SizesAsList,
     .number = number::Size,
     .raises = Raises::kNotOnOneOperand},
    {.name = "aten::broadcast_tensors", .kind = kView, .hides_aliases = true},
    {.name = "aten::meshgrid", .kind = kView, .hides_aliases = true},
    {.name = "aten::align_tensors", .kind = kView, .hides_aliases = true},
    {.name = "aten::atleast_1d", .kind = kView, .hides_aliases = true},
    {.name = "aten::atleast_2d", .kind = kView, .hides_aliases = true},
    {.name = "aten::atleast_3d", .kind = kView, .hides_aliases = true},
    {.name = "aten::_unsafe_view", .kind = kView, .hides_aliases = true, .only_views = true},
    {.name = "aten::flatten_dense_tensors", .kind = kView, .hides_aliases = true},
    {.name = "aten::as_strided", .kind = kView, .looks_at_storage = true},
};

}  // namespace

bool IsCopiedByReshape(const ValueFacts& from, const std::vector<int64_t>& sizes) {
  return HasStridesToView(from) && !StridesOfView(from, sizes);
}

std::span<const OperatorDefinition> ViewDefinitions() { return kDefinitions; }

}  // namespace hearth
