#include "jit/definitions/fact_rules.h"

#include <ATen/core/jit_type.h>
#include <ATen/native/TypeProperties.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <string>
#include <utility>

namespace hearth {

using c10::ScalarType;

ScalarType DefaultDtype() { return c10::get_default_dtype_as_scalartype(); }

Dtype Floating(Dtype dtype) {
  if (dtype && c10::isIntegralType(*dtype, /*includeBool=*/true)) return DefaultDtype();
  return dtype;
}

Dtype Summed(Dtype dtype) {
  if (dtype && c10::isIntegralType(*dtype, /*includeBool=*/true)) return c10::kLong;
  return dtype;
}

Dtype DtypeOfNumber(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
      return c10::kLong;
    case c10::TypeKind::FloatType:
      return c10::kDouble;
    case c10::TypeKind::BoolType:
      return c10::kBool;
    default:
      return {};
  }
}

Dtype Promoted(const Call& call, std::initializer_list<size_t> inputs) {
  at::native::ResultTypeState state;
  const auto promote = [](ScalarType* with, ScalarType dtype) {
    *with = *with == ScalarType::Undefined ? dtype : c10::promoteTypes(*with, dtype);
  };
  for (const size_t i : inputs) {
    if (call.is_tensor_type(i)) {
      const ValueFacts& facts = call.in(i);
      if (!facts.dtype || !facts.rank()) return {};
      promote(facts.rank() == 0u ? &state.zeroResult : &state.dimResult, *facts.dtype);
    } else if (const c10::IValue* constant = call.constant(i); constant == nullptr || !constant->isNone()) {
      Dtype dtype = DtypeOfNumber(*call.node().input(i)->type());
      if (!dtype) return {};
      if (*dtype == c10::kDouble) dtype = DefaultDtype();
      promote(&state.wrappedResult, *dtype);
    }
  }
  return at::native::result_type(state);
}

Dtype GivenDtype(const Call& call, Dtype otherwise) {
  if (call.is_none("dtype")) return otherwise;
  const std::optional<int64_t> dtype = call.number("dtype");
  if (!dtype || *dtype < 0 || *dtype >= static_cast<int64_t>(c10::NumScalarTypes)) return {};
  return static_cast<ScalarType>(*dtype);
}

std::optional<size_t> Dimension(std::optional<int64_t> dim, size_t rank) {
  if (!dim) return {};
  const auto count = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (*dim < -count || *dim >= count) return {};
  return static_cast<size_t>(*dim < 0 ? *dim + count : *dim);
}

std::optional<KnownSizes> Broadcast(SizeAlgebra& algebra, std::optional<KnownSizes> a, std::optional<KnownSizes> b) {
  if (!a || !b) return {};
  if (a->size() < b->size()) std::swap(a, b);
  const size_t extra = a->size() - b->size();
  for (size_t i = 0; i < b->size(); ++i) {
    KnownSize& size = (*a)[extra + i];
    const KnownSize other = (*b)[i];
    if (size == other || other == 1) continue;
    // What is not 1 is what both are.
    const bool decides = size && size != 1, other_decides = other && other != 1;
    if (size == 1 || other_decides) {
      size = other;
    } else if (!decides && !algebra.IsAtLeast(size, 2)) {
      size = algebra.IsAtLeast(other, 2) ? other : KnownSize();
    }
  }
  return a;
}

std::optional<KnownSizes> UnknownSizes(std::optional<size_t> rank) {
  if (!rank) return {};
  return KnownSizes(*rank, KnownSize());
}

std::optional<KnownSizes> WithSize(std::optional<KnownSizes> sizes, std::optional<int64_t> dim, KnownSize size) {
  if (!sizes) return {};
  if (!dim) return UnknownSizes(sizes->size());
  const auto at = Dimension(dim, sizes->size());
  if (!at || sizes->empty()) return {};
  (*sizes)[*at] = size;
  return sizes;
}

KnownSize SizeOfSlice(SizeAlgebra& algebra, KnownSize size, KnownSize start, KnownSize end, KnownSize step) {
  const auto place = [&](KnownSize at) -> KnownSize {
    if (algebra.Most(at).value_or(0) < 0) at = algebra.Add(at, size);
    if (algebra.IsAtLeast(at, size)) return size;
    if (algebra.IsAtLeast(algebra.Multiply(at, -1), 0)) return 0;
    const bool within = algebra.IsAtLeast(at, 0) && algebra.IsAtLeast(size, at);
    return within ? at : KnownSize();
  };
  start = place(start);
  end = place(end);
  if (!start.is_known() || !end.is_known() || !algebra.IsAtLeast(step, 1)) return {};
  if (algebra.IsAtLeast(start, end)) return 0;
  if (!algebra.IsAtLeast(end, start)) return {};
  const KnownSize length = algebra.Subtract(end, start);
  return algebra.Divide(algebra.Subtract(algebra.Add(length, step), 1), step);
}

KnownSize Product(SizeAlgebra& algebra, const KnownSizes& sizes, size_t from, size_t to) {
  KnownSize product = 1;
  for (size_t i = from; i < to; ++i) product = algebra.Multiply(product, sizes[i]);
  return product;
}

std::optional<c10::MemoryFormat> SuggestedFormat(const SizeAlgebra& algebra, const ValueFacts& facts) {
  if (facts.suggested_format) return facts.suggested_format;
  if (!facts.plain || !facts.rank()) return {};
  const bool of_images = *facts.rank() == 4 || *facts.rank() == 5;
  if (!of_images || facts.default_strides()) return c10::MemoryFormat::Contiguous;
  const PartOrder nested = facts.nested();
  if (!nested.is_known()) return {};
  const KnownSizes& sizes = *facts.sizes;
  const auto at_least = [&](int64_t least) {
    return [&algebra, least](KnownSize size) { return algebra.Least(size).value_or(0) >= least; };
  };
  // Whatever strides dimensions of size 1 have: channels do not come first that have pixels between them.
  bool is_within_channels = false;
  for (const PartOrder::Level& level : nested.levels()) {
    if (level.dimension == 1) is_within_channels = at_least(2)(sizes[1]);
    if (level.dimension >= 2 && is_within_channels && at_least(2)(sizes[level.dimension]))
      return c10::MemoryFormat::Contiguous;
  }
  const StrideOrder dense = nested.Dense();
  if (!dense.has_channels_last() || !nested.is_exact() || nested.levels().back().has_gap) return {};
  // Of images without an element or of one channel and one pixel, none is told from the default.
  if (!std::ranges::all_of(sizes, at_least(1)) || std::none_of(sizes.begin() + 1, sizes.end(), at_least(2))) return {};
  return sizes.size() == 5 ? c10::MemoryFormat::ChannelsLast3d : c10::MemoryFormat::ChannelsLast;
}

void Call::GivePartOrder(const PartOrder& part, size_t output) {
  ValueFacts& facts = out(output);
  if (!facts.plain || !facts.sizes || !part.is_known()) return;
  // Of one element, nothing reads the stride.
  bool is_dense = true, is_outside = true, exact = part.is_exact();
  for (const PartOrder::Level& level : part.levels()) {
    is_outside &= (*facts.sizes)[level.dimension] == 1;
    is_dense &= !level.has_gap || is_outside;
    exact &= !level.has_gap;
  }
  if (is_dense) GiveOrder(exact ? part.Dense() : part.Dense().Inexact(), output);
  if (!facts.order.is_exact()) facts.part_order = part;
}

bool AreStridesDistinct(const SizeAlgebra& algebra, const KnownSizes& sizes, const StrideOrder& order) {
  const std::vector<size_t> nesting = order.Nesting(sizes.size());
  for (size_t i = 0; i < nesting.size(); ++i) {
    if (algebra.Least(sizes[nesting[i]]).value_or(0) < (i == 0 ? 1 : 2)) return false;
  }
  return true;
}

StrideOrder OrderOfNew(const SizeAlgebra& algebra, const KnownSizes& sizes, const PartOrder& nested) {
  const StrideOrder order = nested.Dense();
  if (!order.is_exact() || !AreStridesDistinct(algebra, sizes, order)) return order.Inexact();
  if (nested.levels().empty() || algebra.Least(sizes[nested.levels().front().dimension]).value_or(0) >= 2) return order;
  // Of a tensor that is dense without its outermost dimension the strides are taken over, also an odd one; where it is
  // contiguous without it in some format, new memory has that format.
  const PartOrder::Level outermost = nested.levels().front();
  const auto is_in = [&, at = outermost.dimension](const StrideOrder& format) {
    std::vector<size_t> rest = format.Nesting(sizes.size());
    std::erase(rest, at);
    return !order.IsLike(format) &&
           std::ranges::equal(rest, nested.levels().subspan(1), {}, {}, &PartOrder::Level::dimension);
  };
  const bool may_differ = outermost.has_gap || is_in(StrideOrder::Default(true)) ||
                          (sizes.size() == 4 && is_in(StrideOrder::ChannelsLast(true)));
  return may_differ ? order.Inexact() : order;
}

StrideOrder OrderOfNewLike(const SizeAlgebra& algebra, const ValueFacts& facts) {
  if (!facts.plain) return {};
  if (!facts.rank()) return facts.contiguous() ? facts.order : facts.order.Inexact();
  const PartOrder nested = facts.nested();
  if (!nested.is_exact() || nested.is_default()) return nested.Dense();
  // What is dense in several orders, for its sizes, gives new memory that is exactly in one of them, the default one
  // mostly.
  return OrderOfNew(algebra, *facts.sizes, nested);
}

StrideOrder OrderOfSuggested(const SizeAlgebra& algebra, const ValueFacts& facts) {
  const std::optional<c10::MemoryFormat> format = SuggestedFormat(algebra, facts);
  if (format) return StrideOrder::OfFormat(*format);
  // Whichever it suggests, the result is dense in the same way: where both fit it, there is one pixel or one channel.
  const bool images = facts.contiguous() || facts.order.has_channels_last();
  return images && facts.plain ? facts.order.Inexact() : StrideOrder();
}

Dtype Same(const ValueFacts& a, const ValueFacts& b) { return a.dtype == b.dtype ? a.dtype : Dtype(); }

}  // namespace hearth
