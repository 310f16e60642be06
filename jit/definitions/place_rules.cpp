#include "jit/definitions/place_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "jit/ir/symbols.h"

namespace hearth {
namespace {

using fuser::Opcode;
using fuser::Scalar;
using Dimensions = std::optional<std::vector<size_t>>;

Scalar Quotient(Scalar a, int64_t b, PlaceCall& c) { return a.With(Opcode::kFloorDivide, c.Integer(b)); }

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
  const std::optional<size_t> dimension = sizes ? Dimension(call.number("dim"), sizes->size()) : std::nullopt;
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

// ---- Padding ----

// Before and after each dimension; null where one is no constant.
std::optional<std::vector<std::pair<int64_t, int64_t>>> Padding(const Call& call) {
  const size_t rank = call.out().rank().value_or(0);
  const auto numbers = call.numbers("pad");
  if (!numbers || numbers->size() % 2 != 0 || numbers->size() / 2 > rank) return {};
  std::vector<std::pair<int64_t, int64_t>> padding(rank);
  for (size_t i = 0; i < numbers->size() / 2; ++i) {
    if (!(*numbers)[2 * i] || !(*numbers)[2 * i + 1]) return {};
    padding[rank - 1 - i] = {*(*numbers)[2 * i], *(*numbers)[2 * i + 1]};
  }
  return padding;
}

Dimensions PaddedDimensions(const Call& call) {
  const auto padding = Padding(call);
  const c10::IValue* mode = call.has("mode") ? call.constant("mode") : nullptr;
  if (!padding || (call.has("mode") && (mode == nullptr || mode->toStringRef() != "constant"))) return {};
  return Where(*call.in(0).sizes, *call.out().sizes,
               [&](size_t i) { return (*padding)[i] != std::pair<int64_t, int64_t>(); });
}

Scalar Padded(PlaceCall& c) {
  const c10::IValue* number = c.call().constant("value");
  if (number == nullptr || !(number->isNone() || number->isScalar())) return {};
  const Scalar value = number->isNone() ? c.Constant(0) : c.Constant(number->toScalar().toDouble());
  if (!value) return {};
  const auto padding = *Padding(c.call());
  const std::vector<size_t> dimensions = *PaddedDimensions(c.call());
  std::vector<Scalar> places;
  Scalar is_inside;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const auto [before, after] = padding[dimensions[i]];
    places.push_back(c.Index(i) - c.Integer(before));
    const auto require = [&](Scalar condition) { is_inside = is_inside ? is_inside & condition : condition; };
    if (before > 0) require(c.Integer(0) <= places.back());
    if (after > 0) require(places.back() < c.Size(0, i));
  }
  if (!is_inside) return c.At(0, places).To(c.result());
  const Scalar element = c.AtIf(is_inside, 0, places).To(c.result());
  const bool is_zero =
      number->isNone() || (number->toScalar().toDouble() == 0 && !std::signbit(number->toScalar().toDouble()));
  return is_zero ? element : Select(is_inside, element, value);
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

// Whether LibTorch's kernels, which compute in floating point, each read element i * from / to for element i.
template <typename T>
bool AreNearest(int64_t from, int64_t to, std::optional<double> factor) {
  const T scale = factor ? static_cast<T>(1.0 / *factor) : static_cast<T>(from) / static_cast<T>(to);
  for (int64_t i = 0; i < to; ++i) {
    const auto place = static_cast<int64_t>(std::floor(static_cast<T>(i) * scale));
    if (std::min(place, from - 1) != i * from / to) return false;
  }
  return true;
}

constexpr int64_t kMostPixels = int64_t{1} << 16;

Dimensions NearestDimensions(const Call& call) {
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (from.size() < 3 || from.size() != to.size()) return {};
  const size_t spatial = from.size() - 2;
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < spatial; ++i) {
    const KnownSize before = from[2 + i], after = to[2 + i];
    const auto factor = ResamplingFactor(call, spatial, i);
    if (!factor) return {};
    if (before == after && (!*factor || **factor == 1)) continue;
    if (!before || !after || *before < 1 || *after < 1 || *before > kMostPixels || *after > kMostPixels) return {};
    if (*factor && !(**factor > 0)) return {};
    if (!AreNearest<float>(*before, *after, *factor) || !AreNearest<double>(*before, *after, *factor)) return {};
    if (before != after) dimensions.push_back(2 + i);
  }
  return dimensions.empty() ? Dimensions() : dimensions;
}

Scalar Nearest(PlaceCall& c) {
  std::vector<Scalar> places;
  const Dimensions dimensions = NearestDimensions(c.call());
  for (const size_t dimension : *dimensions) {
    const int64_t from = *(*c.call().in(0).sizes)[dimension], to = *(*c.call().out().sizes)[dimension];
    const Scalar index = c.Index(places.size());
    places.push_back(to % from == 0 ? Quotient(index, to / from, c) : Quotient(index * c.Integer(from), to, c));
  }
  return c.At(0, places);
}

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

std::vector<const Value*> MovedTensors(const Node& node) {
  const Value* first = node.input(0);
  if (first->type()->kind() == c10::TypeKind::TensorType) return {first};
  if (first->node()->kind() != sym::kListConstruct || first->uses().size() != 1) return {};
  return {first->node()->inputs().begin(), first->node()->inputs().end()};
}

namespace place {

const PlaceRule kConcatenate{ConcatenatedDimension, Concatenated, /*joins=*/true};
const PlaceRule kGated{GatedDimension, Gated};
const PlaceRule kNearest{NearestDimensions, Nearest};
const PlaceRule kPad{PaddedDimensions, Padded, /*joins=*/false, /*alone_on_gpu=*/true};
const PlaceRule kRoll{RolledDimensions, Rolled, /*joins=*/false, /*alone_on_gpu=*/true, /*only_on_gpu=*/true};

}  // namespace place
}  // namespace hearth
