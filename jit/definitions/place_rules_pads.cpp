// The rules of place_rules.h for padding: with a number, or with elements of the tensor itself.
#include <cmath>
#include <string_view>
#include <utility>

#include "jit/definitions/place_rules.h"

namespace hearth {
namespace {

using fuser::Scalar;
using Dimensions = std::optional<std::vector<size_t>>;

enum class Edge : uint8_t { kNumber, kReflected, kReplicated, kCircular };

// What stands beyond the tensor; null: no constant says it.
std::optional<Edge> EdgeOf(const Call& call) {
  const std::string_view name = call.node().kind().toUnqualString();
  if (name.starts_with("reflection")) return Edge::kReflected;
  if (name.starts_with("replication")) return Edge::kReplicated;
  if (!call.has("mode")) return Edge::kNumber;
  const c10::IValue* mode = call.constant("mode");
  if (mode == nullptr || !mode->isString()) return {};
  if (mode->toStringRef() == "constant") return Edge::kNumber;
  if (mode->toStringRef() == "reflect") return Edge::kReflected;
  if (mode->toStringRef() == "replicate") return Edge::kReplicated;
  return mode->toStringRef() == "circular" ? std::optional(Edge::kCircular) : std::nullopt;
}

// Before and after each dimension; null where one is no constant.
std::optional<std::vector<std::pair<int64_t, int64_t>>> Padding(const Call& call) {
  const size_t rank = call.out().rank().value_or(0);
  const auto numbers = call.numbers(call.has("padding") ? "padding" : "pad");
  if (!numbers || numbers->size() % 2 != 0 || numbers->size() / 2 > rank) return {};
  std::vector<std::pair<int64_t, int64_t>> padding(rank);
  for (size_t i = 0; i < numbers->size() / 2; ++i) {
    if (!(*numbers)[2 * i] || !(*numbers)[2 * i + 1]) return {};
    padding[rank - 1 - i] = {*(*numbers)[2 * i], *(*numbers)[2 * i + 1]};
  }
  return padding;
}

// Whether LibTorch pads a dimension of so many elements with so many of them.
bool IsPadded(Edge edge, int64_t size, std::pair<int64_t, int64_t> padding) {
  const auto [before, after] = padding;
  if (edge == Edge::kNumber) return true;
  if (before < 0 || after < 0) return false;
  if (edge == Edge::kReflected) return before < size && after < size;
  return edge == Edge::kReplicated || (before <= size && after <= size);
}

// Whether LibTorch takes the tensor: one to three dimensions of it are padded, before which there are the channels and
// perhaps a batch; of integers on a GPU that is not known.
bool TakesElements(Edge edge, const Call& call) {
  const size_t spatial = call.numbers(call.has("padding") ? "padding" : "pad")->size() / 2;
  const size_t rank = *call.in(0).rank();
  if (spatial < 1 || spatial > 3 || rank < spatial + 1 || rank > spatial + 2) return false;
  const c10::ScalarType dtype = *call.out().dtype;
  if (edge == Edge::kCircular) return true;
  return dtype != c10::kBool && (c10::isFloatingType(dtype) || call.in(0).device->is_cpu());
}

Dimensions PaddedDimensions(const Call& call) {
  const auto padding = Padding(call);
  const std::optional<Edge> edge = EdgeOf(call);
  const KnownSizes &from = *call.in(0).sizes, &to = *call.out().sizes;
  if (!padding || !edge || (edge != Edge::kNumber && !TakesElements(*edge, call))) return {};
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < to.size(); ++i) {
    if ((*padding)[i] == std::pair<int64_t, int64_t>()) continue;
    if (!from[i] || !to[i] || !IsPadded(*edge, *from[i], (*padding)[i])) return {};
    dimensions.push_back(i);
  }
  return dimensions.empty() ? Dimensions() : dimensions;
}

Scalar PaddedByNumber(PlaceCall& c) {
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

// The element that stands `distance` behind the first one, which may be before it or behind the last.
Scalar PlaceWithin(Edge edge, Scalar distance, int64_t size, std::pair<int64_t, int64_t> padding, PlaceCall& c) {
  const Scalar first = c.Integer(0), last = c.Integer(size - 1);
  Scalar place = distance;
  if (edge == Edge::kReplicated) return Minimum(Maximum(place, first), last);
  if (edge == Edge::kReflected) {
    if (padding.first > 0) place = Absolute(place);
    return padding.second > 0 ? Minimum(place, c.Integer(2 * (size - 1)) - place) : place;
  }
  if (padding.first > 0) place = Select(distance < first, place + c.Integer(size), place);
  return padding.second > 0 ? Select(last < distance, place - c.Integer(size), place) : place;
}

Scalar Padded(PlaceCall& c) {
  const Edge edge = *EdgeOf(c.call());
  if (edge == Edge::kNumber) return PaddedByNumber(c);
  const auto padding = *Padding(c.call());
  std::vector<Scalar> places;
  const std::vector<size_t> dimensions = *PaddedDimensions(c.call());
  for (const size_t dimension : dimensions) {
    const Scalar distance = c.Index(places.size()) - c.Integer(padding[dimension].first);
    places.push_back(PlaceWithin(edge, distance, *(*c.call().in(0).sizes)[dimension], padding[dimension], c));
  }
  return c.At(0, places);
}

}  // namespace

namespace place {

const PlaceRule kPad{PaddedDimensions, Padded, /*joins=*/false, /*alone_on_gpu=*/true};

}  // namespace place
}  // namespace hearth
