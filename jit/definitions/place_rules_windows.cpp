// The rules of place_rules.h that make an element of several: pooling and bilinear resampling of images.
#include <algorithm>
#include <array>
#include <limits>

#include "jit/definitions/place_rules.h"

namespace hearth {
namespace {

using fuser::Scalar;
using Dimensions = std::optional<std::vector<size_t>>;

// ---- Pooling ----

// Elements of a window are loads of their own in the kernel.
constexpr int64_t kMostInWindow = 25;

// Along one dimension.
struct Window {
  int64_t from = 0, to = 0;  // the sizes of what is pooled and of the result
  int64_t size = 0, stride = 0, padding = 0, dilation = 1;

  // Whether an element of a window may be before the first one, or behind the last.
  bool may_begin_before(int64_t element) const { return element * dilation < padding; }
  bool may_end_behind(int64_t element) const { return (to - 1) * stride - padding + element * dilation >= from; }
};

// A constant for each of two dimensions, or one for both; null: there is none.
std::optional<std::array<int64_t, 2>> PairOf(const Call& call, const char* name) {
  const auto numbers = call.numbers(name);
  if (!numbers || numbers->empty() || numbers->size() > 2 || !numbers->front() || !numbers->back()) return {};
  return std::array{*numbers->front(), *numbers->back()};
}

std::optional<std::array<Window, 2>> WindowsOf(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  const auto size = PairOf(call, "kernel_size"), padding = PairOf(call, "padding");
  const auto strides = call.numbers("stride");
  const auto stride = strides && strides->empty() ? size : PairOf(call, "stride");
  const auto dilation = call.has("dilation") ? PairOf(call, "dilation") : std::array<int64_t, 2>{1, 1};
  if (from.size() < 3 || from.size() != to.size() || !size || !padding || !stride || !dilation) return {};
  std::array<Window, 2> windows;
  for (size_t i = 0; i < 2; ++i) {
    const size_t dimension = from.size() - 2 + i;
    if (!from[dimension] || !to[dimension]) return {};
    windows[i] = {*from[dimension], *to[dimension], (*size)[i], (*stride)[i], (*padding)[i], (*dilation)[i]};
    // Otherwise LibTorch raises.
    const bool is_sound = windows[i].size > 0 && windows[i].stride > 0 && windows[i].dilation > 0 &&
                          windows[i].padding >= 0 && 2 * windows[i].padding <= windows[i].size;
    if (!is_sound) return {};
  }
  return windows[0].size <= kMostInWindow && windows[1].size <= kMostInWindow &&
                 windows[0].size * windows[1].size <= kMostInWindow
             ? std::optional(windows)
             : std::nullopt;
}

Dimensions PooledDimensions(const Call& call) {
  if (!WindowsOf(call)) return {};
  const size_t rank = call.in(0).sizes->size();
  return std::vector<size_t>{rank - 2, rank - 1};
}

// An element of the window along one dimension.
struct Pooled {
  Scalar place;
  Scalar is_inside;  // none where it always is
};

Pooled ElementOf(const Window& window, size_t dimension, int64_t element, PlaceCall& c) {
  Pooled pooled;
  pooled.place = c.Index(dimension) * c.Integer(window.stride) + c.Integer(element * window.dilation - window.padding);
  if (window.may_begin_before(element)) pooled.is_inside = c.Integer(0) <= pooled.place;
  if (window.may_end_behind(element)) {
    const Scalar is_before_end = pooled.place < c.Integer(window.from);
    pooled.is_inside = pooled.is_inside ? pooled.is_inside & is_before_end : is_before_end;
  }
  return pooled;
}

// `value`: before any element. `add(value, element, is_inside)` gives the next one.
template <typename Function>
Scalar OverWindow(const std::array<Window, 2>& windows, Scalar value, PlaceCall& c, Function add) {
  const fuser::Dtype computed = ComputedIn(c.result());
  for (int64_t y = 0; y < windows[0].size; ++y) {
    const Pooled row = ElementOf(windows[0], 0, y, c);
    for (int64_t x = 0; x < windows[1].size; ++x) {
      const Pooled column = ElementOf(windows[1], 1, x, c);
      const Scalar is_inside = !row.is_inside      ? column.is_inside
                               : !column.is_inside ? row.is_inside
                                                   : row.is_inside & column.is_inside;
      const Scalar element =
          is_inside ? c.AtIf(is_inside, 0, {row.place, column.place}) : c.At(0, {row.place, column.place});
      value = add(value, element.To(computed), is_inside);
    }
  }
  return value;
}

Scalar Largest(PlaceCall& c) {
  if (!fuser::IsFloating(c.result())) return {};
  const Scalar least = c.Constant(-std::numeric_limits<double>::infinity()).To(ComputedIn(c.result()));
  return OverWindow(*WindowsOf(c.call()), least, c, [&](Scalar value, Scalar element, Scalar is_inside) {
    return Maximum(value, is_inside ? Select(is_inside, element, least) : element);
  });
}

// How many elements the mean is over along one dimension: padding counts as elements that are 0, but not what is
// beyond it, where sizes were rounded up.
Scalar CountOf(const Window& window, size_t dimension, bool counts_padding, PlaceCall& c) {
  const int64_t padding = counts_padding ? window.padding : 0;
  const bool begins_before = !counts_padding && window.may_begin_before(0);
  const bool ends_behind = (window.to - 1) * window.stride - window.padding + window.size > window.from + padding;
  if (!begins_before && !ends_behind) return c.Integer(window.size);
  Scalar begin = c.Index(dimension) * c.Integer(window.stride) - c.Integer(window.padding);
  const Scalar end = Minimum(begin + c.Integer(window.size), c.Integer(window.from + padding));
  if (begins_before) begin = Maximum(begin, c.Integer(0));
  return end - begin;
}

Scalar Mean(PlaceCall& c) {
  const auto counts_padding = c.call().flag("count_include_pad");
  const c10::IValue* divisor = c.call().constant("divisor_override");
  if (!fuser::IsFloating(c.result()) || !counts_padding || divisor == nullptr) return {};
  if (!divisor->isNone() && !(divisor->isInt() && divisor->toInt() != 0)) return {};
  const std::array<Window, 2> windows = *WindowsOf(c.call());
  const fuser::Dtype computed = ComputedIn(c.result());
  // Outside, elements are 0.
  const Scalar sum = OverWindow(windows, c.Constant(0).To(computed), c,
                                [](Scalar value, Scalar element, Scalar) { return value + element; });
  const Scalar count = divisor->isInt()
                           ? c.Integer(divisor->toInt())
                           : CountOf(windows[0], 0, *counts_padding, c) * CountOf(windows[1], 1, *counts_padding, c);
  return sum / count.To(computed);
}

// ---- Bilinear resampling ----

// In float32 each is a number of its own.
constexpr int64_t kMostPixels = int64_t{1} << 23;

Dimensions BilinearDimensions(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (from.size() != 4 || to.size() != 4 || !call.flag("align_corners")) return {};
  bool changes = false;
  for (size_t i = 2; i < 4; ++i) {
    const auto is_usual = [](KnownSize size) { return size && *size >= 1 && *size <= kMostPixels; };
    if (!is_usual(from[i]) || !is_usual(to[i]) || !ResamplingFactor(call, 2, i - 2)) return {};
    changes |= from[i] != to[i];
  }
  return changes ? std::vector<size_t>{2, 3} : Dimensions();
}

// Between which elements one of the result lies, and how near the second of them it is, from 0 to 1.
struct Between {
  Scalar first, second;  // the same where one is the last
  Scalar share;
};

// As LibTorch computes it, whose factor is what it is told, if it is.
Between PlaceBetween(size_t i, PlaceCall& c) {
  const Call& call = c.call();
  const int64_t from = *(*call.in(0).sizes)[2 + i], to = *(*call.out().sizes)[2 + i];
  const bool aligns = *call.flag("align_corners");
  const fuser::Dtype computed = ComputedIn(c.result());
  const std::optional<double> factor = *ResamplingFactor(call, 2, i);
  double scale = 0;
  if (aligns) {
    if (to > 1) scale = static_cast<double>(from - 1) / static_cast<double>(to - 1);
  } else {
    scale = factor && *factor > 0 ? 1.0 / *factor : static_cast<double>(from) / static_cast<double>(to);
  }
  const Scalar index = c.Index(i).To(computed);
  const Scalar place = aligns ? index * scale : Maximum((index + 0.5) * scale - 0.5, 0);
  const Scalar last = c.Integer(from - 1), first = Minimum(place.To(fuser::Dtype::kInt64), last);
  return {first, Minimum(first + c.Integer(1), last), place - first.To(computed)};
}

Scalar Bilinear(PlaceCall& c) {
  if (!fuser::IsFloating(c.result())) return {};
  const fuser::Dtype computed = ComputedIn(c.result());
  const Between y = PlaceBetween(0, c), x = PlaceBetween(1, c);
  const auto mix = [](Scalar first, Scalar second, Scalar share) { return (1 - share) * first + share * second; };
  const auto in_row = [&](Scalar row) {
    const Scalar first = c.At(0, {row, x.first}).To(computed), second = c.At(0, {row, x.second}).To(computed);
    return mix(first, second, x.share);
  };
  const Scalar above = in_row(y.first), below = in_row(y.second);
  return mix(above, below, y.share);
}

}  // namespace

namespace place {

const PlaceRule kAveragePool{PooledDimensions, Mean, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};
const PlaceRule kBilinear{BilinearDimensions, Bilinear, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};
const PlaceRule kMaxPool{PooledDimensions, Largest, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};

}  // namespace place
}  // namespace hearth
