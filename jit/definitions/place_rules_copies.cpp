// The rules of place_rules.h for repeated, mirrored, shuffled and written-over elements, for triangles of matrices and
// for differences of neighbours.
#include <algorithm>
#include <numeric>

#include "jit/definitions/place_rules.h"

namespace hearth {
namespace {

using fuser::Scalar;
using Dimensions = std::optional<std::vector<size_t>>;

// The place along a dimension of the result, divided.
struct Divided {
  Scalar quotient, remainder;
};
Divided IndexBy(int64_t b, size_t i, size_t dimension, PlaceCall& c) {
  const int64_t size = *(*c.call().out().sizes)[dimension];
  return {QuotientOfPlace(c.Index(i), size, b, c), RemainderOfPlace(c.Index(i), size, b, c)};
}

// The last ones of a tensor that has more dimensions than them, if their sizes and the result's are constants.
Dimensions LastDimensions(const Call& call, size_t count) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (from.size() < count || to.size() != from.size()) return {};
  std::vector<size_t> dimensions(count);
  std::iota(dimensions.begin(), dimensions.end(), from.size() - count);
  const auto are_constant = [&](size_t i) { return from[i] && to[i]; };
  return std::ranges::all_of(dimensions, are_constant) ? std::optional(dimensions) : std::nullopt;
}

// ---- Repetition ----

// So many rounds of a dimension are told apart one by one; where vectors lie along it, no more are.
constexpr int64_t kMostRounds = 4;

// Of a whole tensor, which may get dimensions before its own.
Dimensions RepeatedDimensions(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (from.size() > to.size()) return {};
  const size_t extra = to.size() - from.size();
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < to.size(); ++i) {
    const KnownSize size = i < extra ? KnownSize(1) : from[i - extra];
    if (size == to[i]) continue;
    if (!size || !to[i] || *size < 1 || *to[i] < 1) return {};
    if (i + 1 == to.size() && *size > 1 && *to[i] > kMostRounds * *size) return {};
    dimensions.push_back(i);
  }
  return dimensions.empty() ? Dimensions() : dimensions;
}

Scalar Repeated(PlaceCall& c) {
  const KnownSizes &from = *c.call().in(0).sizes, &to = *c.call().out().sizes;
  std::vector<Scalar> places;
  const std::vector<size_t> dimensions = *RepeatedDimensions(c.call());
  for (const size_t dimension : dimensions) {
    const size_t extra = to.size() - from.size();
    const int64_t size = dimension < extra ? 1 : *from[dimension - extra], rounds = *to[dimension] / size;
    const Scalar index = c.Index(places.size());
    Scalar place = index;
    if (size == 1) {
      place = c.Integer(0);
    } else if (rounds > kMostRounds) {
      place = RemainderOfPlace(index, *to[dimension], size, c);
    } else {
      for (int64_t round = 1; round < rounds; ++round) {
        const Scalar begin = c.Integer(round * size);
        place = Select(index < begin, place, index - begin);
      }
    }
    places.push_back(place);
  }
  return c.At(0, places);
}

// Of each element along a dimension, a number of times that is a constant.
Dimensions RepeatedElements(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (!call.has("self") || from.size() != to.size() || !call.is_none("output_size")) return {};
  const std::optional<size_t> dimension = Dimension(call.number("dim"), from.size());
  if (!dimension || from.empty()) return {};
  const KnownSize before = from[*dimension], after = to[*dimension];
  if (!before || !after || *before < 1 || *after <= *before) return {};
  return std::vector<size_t>{*dimension};
}

Scalar RepeatedElement(PlaceCall& c) {
  const size_t dimension = RepeatedElements(c.call())->front();
  const int64_t from = *(*c.call().in(0).sizes)[dimension], to = *(*c.call().out().sizes)[dimension];
  return c.At(0, {IndexBy(to / from, 0, dimension, c).quotient});
}

// ---- Mirrors ----

std::optional<KnownSizes> DimensionsToFlip(const Call& call) {
  const std::string_view name = call.node().kind().toUnqualString();
  const size_t rank = *call.in(0).rank();
  if (name == "fliplr") return rank >= 2 ? std::optional(KnownSizes{1}) : std::nullopt;
  if (name == "flipud") return rank >= 1 ? std::optional(KnownSizes{0}) : std::nullopt;
  return call.numbers("dims");
}

Dimensions FlippedDimensions(const Call& call) {
  const std::optional<KnownSizes> dims = DimensionsToFlip(call);
  const KnownSizes& sizes = *call.in(0).sizes;
  if (!dims) return {};
  std::vector<size_t> dimensions;
  for (const KnownSize dim : *dims) {
    const auto dimension = Dimension(dim.constant(), sizes.size());
    if (!dimension || sizes.empty() || !sizes[*dimension]) return {};
    // LibTorch raises.
    if (std::ranges::find(dimensions, *dimension) != dimensions.end()) return {};
    dimensions.push_back(*dimension);
  }
  std::erase_if(dimensions, [&](size_t dimension) { return sizes[dimension] == 1; });
  return dimensions.empty() ? Dimensions() : dimensions;
}

Scalar Flipped(PlaceCall& c) {
  std::vector<Scalar> places;
  const std::vector<size_t> dimensions = *FlippedDimensions(c.call());
  for (const size_t dimension : dimensions) {
    places.push_back(c.Integer(*(*c.call().out().sizes)[dimension] - 1) - c.Index(places.size()));
  }
  return c.At(0, places);
}

// ---- Shuffles ----

Dimensions ShuffledPixels(const Call& call) {
  const auto factor = call.number("upscale_factor");
  const Dimensions dimensions = LastDimensions(call, 3);
  if (!dimensions || !factor || *factor < 2 || *factor > 1024) return {};
  const int64_t channels = *(*call.in(0).sizes)[dimensions->front()];
  return channels % (*factor * *factor) == 0 ? dimensions : Dimensions();
}

Scalar PixelOfChannels(PlaceCall& c) {
  const int64_t factor = *c.call().number("upscale_factor");
  const size_t channels = ShuffledPixels(c.call())->front();
  const Divided y = IndexBy(factor, 1, channels + 1, c), x = IndexBy(factor, 2, channels + 2, c);
  const Scalar channel = (c.Index(0) * c.Integer(factor) + y.remainder) * c.Integer(factor) + x.remainder;
  return c.At(0, {channel, y.quotient, x.quotient});
}

Dimensions UnshuffledPixels(const Call& call) {
  const auto factor = call.number("downscale_factor");
  const Dimensions dimensions = LastDimensions(call, 3);
  if (!dimensions || !factor || *factor < 2 || *factor > 1024) return {};
  const auto is_divided = [&](size_t i) { return *(*call.in(0).sizes)[i] % *factor == 0; };
  return is_divided((*dimensions)[1]) && is_divided((*dimensions)[2]) ? dimensions : Dimensions();
}

Scalar ChannelOfPixels(PlaceCall& c) {
  const int64_t factor = *c.call().number("downscale_factor");
  const size_t dimension = UnshuffledPixels(c.call())->front();
  const Divided pixel = IndexBy(factor * factor, 0, dimension, c);
  const Scalar row = QuotientOfPlace(pixel.remainder, factor * factor, factor, c),
               column = RemainderOfPlace(pixel.remainder, factor * factor, factor, c);
  return c.At(0, {pixel.quotient, c.Index(1) * c.Integer(factor) + row, c.Index(2) * c.Integer(factor) + column});
}

// Channels are a matrix of so many groups that is transposed.
Dimensions ShuffledChannels(const Call& call) {
  const auto groups = call.number("groups");
  const KnownSizes& sizes = *call.in(0).sizes;
  if (!groups || *groups < 1 || sizes.size() < 3 || !sizes[1] || *sizes[1] % *groups != 0) return {};
  return std::vector<size_t>{1};
}

Scalar ShuffledChannel(PlaceCall& c) {
  const int64_t groups = *c.call().number("groups"), channels = *(*c.call().out().sizes)[1];
  const Divided channel = IndexBy(groups, 0, 1, c);
  return c.At(0, {channel.remainder * c.Integer(channels / groups) + channel.quotient});
}

// ---- Triangles ----

Dimensions MatrixDimensions(const Call& call) {
  return call.number("diagonal") ? LastDimensions(call, 2) : Dimensions();
}

Scalar Triangle(PlaceCall& c, bool is_lower) {
  const Scalar row = c.Index(0), column = c.Index(1);
  const Scalar diagonal = row + c.Integer(*c.call().number("diagonal"));
  return Select(is_lower ? column <= diagonal : diagonal <= column, c.At(0, {row, column}), c.Constant(0));
}
Scalar LowerTriangle(PlaceCall& c) { return Triangle(c, true); }
Scalar UpperTriangle(PlaceCall& c) { return Triangle(c, false); }

// ---- Neighbours and slices ----

// Of neighbours once subtracted, with nothing put before or behind.
Dimensions DifferencesDimension(const Call& call) {
  const KnownSizes& from = *call.in(0).sizes;
  const auto dimension = Dimension(call.number("dim"), from.size());
  if (call.number("n") != 1 || !call.is_none("prepend") || !call.is_none("append") || !dimension || from.empty())
    return {};
  if (!from[*dimension] || *from[*dimension] < 2) return {};
  return std::vector<size_t>{*dimension};
}

Scalar Difference(PlaceCall& c) {
  const Scalar index = c.Index(0);
  const Scalar before = c.At(0, {index}), after = c.At(0, {index + c.Integer(1)});
  if (c.result() == fuser::Dtype::kBool) return after ^ before;
  const fuser::Dtype computed = ComputedIn(c.result());
  return after.To(computed) - before.To(computed);
}

struct Slice {
  size_t dimension = 0;
  int64_t begin = 0, end = 0, step = 1;
};

// Which elements of the first tensor the second one has; null: no constants say it, or LibTorch raises.
std::optional<Slice> SliceOf(const Call& call) {
  const ValueFacts &whole = call.in(0), &part = call.in(1);
  const auto dimension = Dimension(call.number("dim"), whole.rank().value_or(0));
  const auto step = call.number("step");
  if (!dimension || whole.sizes->empty() || part.rank() != whole.rank() || part.dtype != whole.dtype || !step)
    return {};
  const KnownSize size = (*whole.sizes)[*dimension];
  const auto bound = [&](const char* name, int64_t otherwise) -> std::optional<int64_t> {
    if (call.is_none(name)) return otherwise;
    const auto number = call.number(name);
    if (!number) return {};
    return std::clamp<int64_t>(*number < 0 ? *number + *size : *number, 0, *size);
  };
  if (!size || *step < 1 || *step > *size) return {};
  const auto begin = bound("start", 0), end = bound("end", *size);
  if (!begin || !end || *begin >= *end) return {};
  for (size_t i = 0; i < whole.sizes->size(); ++i) {
    const KnownSize length = i == *dimension ? KnownSize((*end - *begin + *step - 1) / *step) : (*whole.sizes)[i];
    if ((*part.sizes)[i] != length) return {};
  }
  return Slice{*dimension, *begin, *end, *step};
}

Dimensions WrittenDimension(const Call& call) {
  const std::optional<Slice> slice = SliceOf(call);
  return slice ? std::optional(std::vector<size_t>{slice->dimension}) : std::nullopt;
}

Scalar WrittenOver(PlaceCall& c) {
  const Slice slice = *SliceOf(c.call());
  const int64_t size = *(*c.call().out().sizes)[slice.dimension];
  const Scalar index = c.Index(0), distance = index - c.Integer(slice.begin);
  Scalar is_written = (c.Integer(slice.begin) <= index) & (index < c.Integer(slice.end));
  Scalar place = distance;
  if (slice.step > 1) {
    // Before the slice, numbers are below 0 and say nothing.
    is_written = is_written & (RemainderOfPlace(distance, size, slice.step, c) == c.Integer(0));
    place = QuotientOfPlace(distance, size, slice.step, c);
  }
  return Select(is_written, c.AtIf(is_written, 1, {place}), c.At(0, {index}));
}

}  // namespace

namespace place {

const PlaceRule kDifference{DifferencesDimension, Difference};
const PlaceRule kFlip{FlippedDimensions, Flipped};
const PlaceRule kLowerTriangle{MatrixDimensions, LowerTriangle};
const PlaceRule kRepeat{RepeatedDimensions, Repeated};
const PlaceRule kRepeatElements{RepeatedElements, RepeatedElement};
const PlaceRule kShuffleChannels{ShuffledChannels, ShuffledChannel};
const PlaceRule kShufflePixels{ShuffledPixels, PixelOfChannels};
const PlaceRule kSliceScatter{WrittenDimension,      WrittenOver,  /*joins=*/false, /*alone_on_gpu=*/false,
                              /*only_on_gpu=*/false, /*tensors=*/2};
const PlaceRule kUnshufflePixels{UnshuffledPixels, ChannelOfPixels};
const PlaceRule kUpperTriangle{MatrixDimensions, UpperTriangle};

}  // namespace place
}  // namespace hearth
