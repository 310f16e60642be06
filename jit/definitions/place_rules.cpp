#include "jit/definitions/place_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>

#include "jit/definitions/definition.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using fuser::Opcode;
using fuser::Scalar;
using Dimensions = std::optional<std::vector<size_t>>;

Scalar OfPlace(Opcode opcode, Scalar place, int64_t bound, int64_t b, const PlaceCall& c) {
  if (bound > std::numeric_limits<int32_t>::max()) return place.With(opcode, c.Integer(b));
  constexpr fuser::Dtype kNarrow = fuser::Dtype::kInt32;
  return place.To(kNarrow).With(opcode, c.Integer(b).To(kNarrow)).To(fuser::Dtype::kInt64);
}

// Those along which sizes are constants and the predicate holds; null where it holds of another one.
template <typename Predicate>
Dimensions Where(const KnownSizes& from, const KnownSizes& to, Predicate moves) {
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!moves(i)) continue;
    if (!from[i] || !to[i]) return {};
    dimensions.push_back(i);
  }
  return dimensions.empty() ? Dimensions() : dimensions;
}

// ---- Concatenation ----

Dimensions ConcatenatedDimension(const Call& call) {
  const std::optional<KnownSizes>& sizes = call.out().sizes;
  const std::optional<size_t> dimension = sizes ? DimensionOfJoin(call, sizes->size()) : std::nullopt;
  if (!dimension) return {};
  for (const ValueFacts& part : call.in(0).elements) {
    if (part.rank() != sizes->size() || !(*part.sizes)[*dimension]) return {};
    for (size_t i = 0; i < sizes->size(); ++i) {
      if (i != *dimension && ((*part.sizes)[i] == 1) != ((*sizes)[i] == 1)) return {};
    }
  }
  return std::vector<size_t>{*dimension};
}

Scalar Concatenated(PlaceCall& c) {
  const Scalar index = c.Index(0);
  Scalar begin = c.Integer(0), element;
  for (size_t i = 0; i < MovedTensors(c.call().node()).size(); ++i) {
    const Scalar end = begin + c.Size(i, 0);
    if (c.part() == i) return c.At(i, {index - begin}).To(c.result());
    if (!c.part()) {
      const Scalar own = c.AtIf((begin <= index) & (index < end), i, {index - begin}).To(c.result());
      element = element ? Select(index < begin, element, own) : own;
    }
    begin = end;
  }
  return element;
}

// ---- Rolling ----

// By dimension, how far the elements are moved; null where one is no constant.
std::optional<std::map<size_t, int64_t>> Shifts(const Call& call) {
  const auto shifts = call.numbers("shifts"), dims = call.numbers("dims");
  const size_t rank = call.out().rank().value_or(0);
  if (!shifts || !dims || dims->empty() || shifts->size() != dims->size()) return {};
  std::map<size_t, int64_t> by_dimension;
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto dimension = Dimension((*dims)[i].constant(), rank);
    if (!dimension || !(*shifts)[i]) return {};
    by_dimension[*dimension] += *(*shifts)[i];
  }
  return by_dimension;
}

Dimensions RolledDimensions(const Call& call) {
  const auto shifts = Shifts(call);
  if (!shifts) return {};
  return Where(*call.in(0).sizes, *call.out().sizes, [&](size_t i) { return shifts->contains(i); });
}

Scalar Rolled(PlaceCall& c) {
  std::vector<Scalar> places;
  const auto shifts = *Shifts(c.call());
  for (const auto& [dimension, shift] : shifts) {
    const int64_t size = *(*c.call().out().sizes)[dimension];
    const int64_t first = ((-shift % size) + size) % size;  // what comes to the first place
    const Scalar index = c.Index(places.size());
    places.push_back(
        Select(index < c.Integer(size - first), index + c.Integer(first), index - c.Integer(size - first)));
  }
  return c.At(0, places);
}

// ---- Nearest neighbours ----

// Which elements are nearest: to the places that numbers of the result stand for, or to the middles of its pixels.
enum class Nearness : uint8_t { kOfPlaces, kOfMiddles };

// Whether LibTorch's kernels, which compute in floating point, each read element i * from / to for element i, or
// (2 * i + 1) * from / (2 * to).
template <typename T>
bool AreNearest(int64_t from, int64_t to, std::optional<double> factor, Nearness nearness) {
  const T scale = factor ? static_cast<T>(1.0 / *factor) : static_cast<T>(from) / static_cast<T>(to);
  const bool of_middles = nearness == Nearness::kOfMiddles;
  for (int64_t i = 0; i < to; ++i) {
    const T middle = static_cast<T>(i) + (of_middles ? static_cast<T>(0.5) : static_cast<T>(0));
    const auto place = static_cast<int64_t>(std::floor(middle * scale));
    const int64_t nearest = of_middles ? (2 * i + 1) * from / (2 * to) : i * from / to;
    if (std::min(place, from - 1) != nearest) return false;
  }
  return true;
}

// LibTorch resamples no integers but bytes.
bool IsResampled(const Call& call) {
  const Dtype dtype = call.out().dtype;
  return dtype && (c10::isFloatingType(*dtype) || dtype == c10::kByte);
}

constexpr int64_t kMostPixels = int64_t{1} << 16;

Dimensions NearestDimensionsOf(const Call& call, Nearness nearness) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (from.size() < 3 || from.size() != to.size() || !IsResampled(call)) return {};
  const size_t spatial = from.size() - 2;
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < spatial; ++i) {
    const KnownSize before = from[2 + i], after = to[2 + i];
    const auto factor = ResamplingFactor(call, spatial, i);
    if (!factor) return {};
    if (before == after && (!*factor || **factor == 1)) continue;
    if (!before || !after || *before < 1 || *after < 1 || *before > kMostPixels || *after > kMostPixels) return {};
    if (*factor && !(**factor > 0)) return {};
    if (!AreNearest<float>(*before, *after, *factor, nearness)) return {};
    if (!AreNearest<double>(*before, *after, *factor, nearness)) return {};
    if (before != after) dimensions.push_back(2 + i);
  }
  return dimensions.empty() ? Dimensions() : dimensions;
}
Dimensions NearestDimensions(const Call& call) { return NearestDimensionsOf(call, Nearness::kOfPlaces); }
Dimensions NearestExactDimensions(const Call& call) { return NearestDimensionsOf(call, Nearness::kOfMiddles); }

Scalar NearestOf(PlaceCall& c, Nearness nearness) {
  std::vector<Scalar> places;
  const Dimensions dimensions = NearestDimensionsOf(c.call(), nearness);
  for (const size_t dimension : *dimensions) {
    const int64_t from = *(*c.call().in(0).sizes)[dimension], to = *(*c.call().out().sizes)[dimension];
    const Scalar index = c.Index(places.size());
    if (to % from == 0) {
      places.push_back(QuotientOfPlace(index, to, to / from, c));
    } else if (nearness == Nearness::kOfPlaces) {
      places.push_back(QuotientOfPlace(index * c.Integer(from), to * from, to, c));
    } else {
      const Scalar middle = (index * c.Integer(2) + c.Integer(1)) * c.Integer(from);
      places.push_back(QuotientOfPlace(middle, 2 * to * from, 2 * to, c));
    }
  }
  return c.At(0, places);
}
Scalar Nearest(PlaceCall& c) { return NearestOf(c, Nearness::kOfPlaces); }
Scalar NearestExact(PlaceCall& c) { return NearestOf(c, Nearness::kOfMiddles); }

// ---- Gates ----

Dimensions GatedDimension(const Call& call) {
  const auto dimension = Dimension(call.number("dim"), call.in(0).rank().value_or(0));
  if (!dimension) return {};
  return Where(*call.in(0).sizes, *call.out().sizes, [&](size_t i) { return i == *dimension; });
}

Scalar Gated(PlaceCall& c) {
  if (!fuser::IsFloating(c.result())) return {};
  const int64_t half = *(*c.call().out().sizes)[GatedDimension(c.call())->front()];
  const fuser::Dtype computed = ComputedIn(c.result());
  const Scalar value = c.At(0, {c.Index(0)}).To(computed);
  const Scalar gate = c.At(0, {c.Index(0) + c.Integer(half)}).To(computed);
  return value * (1 / (1 + Exp(-gate)));
}

}  // namespace

Scalar PlaceCall::Constant(double value) const {
  if (!fuser::IsFloating(result_)) {
    const bool is_small = std::abs(value) <= (result_ == fuser::Dtype::kBool ? 1 : 127) && value == std::trunc(value);
    if (!is_small || (value < 0 && (result_ == fuser::Dtype::kUint8 || result_ == fuser::Dtype::kBool))) return {};
  }
  return {builder_, builder_.Constant(result_, value)};
}

std::optional<std::optional<double>> ResamplingFactor(const Call& call, size_t spatial, size_t i) {
  if (call.has("scale_factors")) {
    const c10::IValue* factors = call.constant("scale_factors");
    if (factors == nullptr) return {};
    if (factors->isNone()) return std::optional<double>();
    if (!factors->isDoubleList() || factors->toDoubleVector().size() != spatial) return {};
    return factors->toDoubleVector()[i];
  }
  const char* const name = spatial == 1       ? "scales"
                           : spatial == i + 1 ? "scales_w"
                           : spatial == i + 2 ? "scales_h"
                                              : "scales_d";
  const c10::IValue* factor = call.constant(name);
  if (factor == nullptr || !(factor->isNone() || factor->isDouble())) return {};
  return factor->isNone() ? std::optional<double>() : factor->toDouble();
}

Scalar QuotientOfPlace(Scalar place, int64_t bound, int64_t b, const PlaceCall& c) {
  return OfPlace(Opcode::kDivide, place, bound, b, c);
}
Scalar RemainderOfPlace(Scalar place, int64_t bound, int64_t b, const PlaceCall& c) {
  return OfPlace(Opcode::kFmod, place, bound, b, c);
}

std::optional<size_t> DimensionOfJoin(const Call& call, size_t rank) {
  const std::string_view name = call.node().kind().toUnqualString();
  if (name == "vstack") return rank >= 2 ? std::optional<size_t>(0) : std::nullopt;
  if (name == "hstack") return rank >= 1 ? std::optional<size_t>(rank == 1 ? 0 : 1) : std::nullopt;
  if (name == "column_stack") return rank >= 2 ? std::optional<size_t>(1) : std::nullopt;
  if (name == "dstack") return rank >= 3 ? std::optional<size_t>(2) : std::nullopt;
  return Dimension(call.number("dim"), rank);
}

size_t SpatialRank(const Call& call) {
  const std::string_view name = call.node().kind().toUnqualString();
  for (size_t rank = 1; rank <= 3; ++rank) {
    if (name.find(static_cast<char>('0' + rank)) != std::string_view::npos) return rank;
  }
  return 3;
}

std::vector<const Value*> MovedTensors(const Node& node) {
  const Value* first = node.input(0);
  if (first->type()->kind() == c10::TypeKind::TensorType) {
    return {node.inputs().begin(),
            node.inputs().begin() + static_cast<ptrdiff_t>(DefinitionOf(node.kind()).place->tensors)};
  }
  if (first->node()->kind() != sym::kListConstruct || first->uses().size() != 1) return {};
  return {first->node()->inputs().begin(), first->node()->inputs().end()};
}

namespace place {

const PlaceRule kConcatenate{ConcatenatedDimension, Concatenated, /*joins=*/true};
const PlaceRule kGated{GatedDimension, Gated};
const PlaceRule kNearest{NearestDimensions, Nearest};
const PlaceRule kNearestExact{NearestExactDimensions, NearestExact};
const PlaceRule kRoll{RolledDimensions, Rolled, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};

}  // namespace place
}  // namespace hearth
