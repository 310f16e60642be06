// The rules of place_rules.h that make an element of several: pooling and linear resampling of images, sequences
// and volumes.
#include <algorithm>
#include <limits>
#include <numeric>

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

// A constant for each of `spatial` dimensions, or one for all; null: there is none.
std::optional<std::vector<int64_t>> NumbersOf(const Call& call, const char* name, size_t spatial) {
  const auto numbers = call.numbers(name);
  if (!numbers || (numbers->size() != 1 && numbers->size() != spatial)) return {};
  std::vector<int64_t> constants;
  for (size_t i = 0; i < spatial; ++i) {
    const KnownSize number = (*numbers)[numbers->size() == 1 ? 0 : i];
    if (!number) return {};
    constants.push_back(*number);
  }
  return constants;
}

std::optional<std::vector<Window>> WindowsOf(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  const size_t spatial = SpatialRank(call);
  const auto size = NumbersOf(call, "kernel_size", spatial), padding = NumbersOf(call, "padding", spatial);
  const auto strides = call.numbers("stride");
  const auto stride = strides && strides->empty() ? size : NumbersOf(call, "stride", spatial);
  const auto dilation = call.has("dilation") ? NumbersOf(call, "dilation", spatial) : std::vector<int64_t>(spatial, 1);
  if (from.size() < spatial + 1 || from.size() > spatial + 2 || from.size() != to.size()) return {};
  if (!size || !padding || !stride || !dilation) return {};
  std::vector<Window> windows;
  int64_t elements = 1;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t dimension = from.size() - spatial + i;
    if (!from[dimension] || !to[dimension]) return {};
    const Window& window = windows.emplace_back(
        Window{*from[dimension], *to[dimension], (*size)[i], (*stride)[i], (*padding)[i], (*dilation)[i]});
    // Otherwise LibTorch raises.
    const bool is_sound = window.size > 0 && window.stride > 0 && window.dilation > 0 && window.padding >= 0 &&
                          2 * window.padding <= window.size;
    if (!is_sound || window.size > kMostInWindow) return {};
    elements *= window.size;
  }
  return elements <= kMostInWindow ? std::optional(windows) : std::nullopt;
}

// The last dimensions.
std::vector<size_t> SpatialDimensions(const Call& call) {
  std::vector<size_t> dimensions(SpatialRank(call));
  std::iota(dimensions.begin(), dimensions.end(), call.in(0).sizes->size() - dimensions.size());
  return dimensions;
}

Dimensions PooledDimensions(const Call& call) { return WindowsOf(call) ? SpatialDimensions(call) : Dimensions(); }

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

// Goes over a window in the order of its dimensions.
template <typename Function>
class WindowWalk {
 public:
  // `add(value, element, is_inside)` gives what comes of one more element.
  WindowWalk(const std::vector<Window>& windows, PlaceCall& c, Function add) : windows_(windows), c_(c), add_(add) {}

  // `value`: before any element.
  Scalar From(Scalar value) {
    value_ = value;
    Walk({});
    return value_;
  }

 private:
  // `is_inside`: whether the places so far are; none where they always are.
  void Walk(Scalar is_inside) {
    const size_t i = places_.size();
    if (i == windows_.size()) {
      const Scalar element = is_inside ? c_.AtIf(is_inside, 0, places_) : c_.At(0, places_);
      value_ = add_(value_, element.To(ComputedIn(c_.result())), is_inside);
      return;
    }
    for (int64_t element = 0; element < windows_[i].size; ++element) {
      const Pooled pooled = ElementOf(windows_[i], i, element, c_);
      places_.push_back(pooled.place);
      Walk(!is_inside ? pooled.is_inside : !pooled.is_inside ? is_inside : is_inside & pooled.is_inside);
      places_.pop_back();
    }
  }

  const std::vector<Window>& windows_;
  PlaceCall& c_;
  Function add_;
  std::vector<Scalar> places_;
  Scalar value_;
};

Scalar Largest(PlaceCall& c) {
  if (!fuser::IsFloating(c.result())) return {};
  const Scalar least = c.Constant(-std::numeric_limits<double>::infinity()).To(ComputedIn(c.result()));
  const auto add = [&](Scalar value, Scalar element, Scalar is_inside) {
    return Maximum(value, is_inside ? Select(is_inside, element, least) : element);
  };
  return WindowWalk(*WindowsOf(c.call()), c, add).From(least);
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
  const std::optional<int64_t> divisor = c.call().number("divisor_override");
  const bool has_divisor = !c.call().is_none("divisor_override");
  if (!fuser::IsFloating(c.result()) || !counts_padding || (has_divisor && divisor.value_or(0) == 0)) return {};
  const std::vector<Window> windows = *WindowsOf(c.call());
  const fuser::Dtype computed = ComputedIn(c.result());
  // Outside, elements are 0.
  const auto add = [](Scalar value, Scalar element, Scalar) { return value + element; };
  const Scalar sum = WindowWalk(windows, c, add).From(c.Constant(0).To(computed));
  if (has_divisor) return sum / c.Integer(*divisor).To(computed);
  Scalar count = c.Integer(1);
  for (size_t i = 0; i < windows.size(); ++i) count = count * CountOf(windows[i], i, *counts_padding, c);
  return sum / count.To(computed);
}

// ---- Linear resampling ----

// In float32 each is a number of its own.
constexpr int64_t kMostPixels = int64_t{1} << 23;

// Of images, sequences and volumes, in batches.
Dimensions LinearDimensions(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  const size_t spatial = SpatialRank(call);
  if (from.size() != spatial + 2 || to.size() != spatial + 2 || !call.flag("align_corners")) return {};
  bool changes = false;
  for (size_t i = 2; i < to.size(); ++i) {
    const auto is_usual = [](KnownSize size) { return size && *size >= 1 && *size <= kMostPixels; };
    if (!is_usual(from[i]) || !is_usual(to[i]) || !ResamplingFactor(call, spatial, i - 2)) return {};
    changes |= from[i] != to[i];
  }
  return changes ? SpatialDimensions(call) : Dimensions();
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
  const std::optional<double> factor = *ResamplingFactor(call, SpatialRank(call), i);
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

// Mixes those on both sides along the dimensions that have no place yet.
Scalar Mixed(const std::vector<Between>& between, std::vector<Scalar> places, PlaceCall& c) {
  const size_t i = places.size();
  if (i == between.size()) return c.At(0, places).To(ComputedIn(c.result()));
  places.push_back(between[i].first);
  const Scalar first = Mixed(between, places, c);
  places.back() = between[i].second;
  return (1 - between[i].share) * first + between[i].share * Mixed(between, places, c);
}

Scalar Linear(PlaceCall& c) {
  if (!fuser::IsFloating(c.result())) return {};
  std::vector<Between> between;
  for (size_t i = 0; i < SpatialRank(c.call()); ++i) between.push_back(PlaceBetween(i, c));
  return Mixed(between, {}, c);
}

}  // namespace

namespace place {

const PlaceRule kAveragePool{PooledDimensions, Mean, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};
const PlaceRule kLinear{LinearDimensions, Linear, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};
const PlaceRule kMaxPool{PooledDimensions, Largest, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};

}  // namespace place
}  // namespace hearth
