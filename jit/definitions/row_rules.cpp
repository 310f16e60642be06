#include "jit/definitions/row_rules.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string_view>

namespace hearth::row {
namespace {

using fuser::Opcode;
using fuser::Reduction;
using fuser::Scalar;

// Whether it is of floating-point numbers that kernels have.
bool IsOfFloats(const ValueFacts& tensor) {
  const auto dtype = tensor.dtype ? KernelDtype(*tensor.dtype) : std::nullopt;
  return dtype && fuser::IsFloating(*dtype);
}

std::vector<Scalar> Sum(RowCall& c) {
  return {c.Reduce(Reduction::kSum, [&] { return c.In(0); })};
}
std::vector<Scalar> Mean(RowCall& c) { return {Sum(c)[0] / c.Count()}; }
std::vector<Scalar> Largest(RowCall& c) {
  return {c.Reduce(Reduction::kMaximum, [&] { return c.In(0); })};
}
std::vector<Scalar> Smallest(RowCall& c) {
  return {c.Reduce(Reduction::kMinimum, [&] { return c.In(0); })};
}
// The sum of what elements deviate from the mean, squared.
Scalar SquaredDeviations(RowCall& c, const Scalar& mean) {
  return c.Reduce(Reduction::kSum, [&] {
    const Scalar deviation = c.In(0) - mean;
    return deviation * deviation;
  });
}

std::optional<std::vector<size_t>> SoftmaxDimensions(const Call& call) {
  const std::optional<size_t> rank = call.in(0).rank();
  if (!rank || !IsOfFloats(call.in(0))) return {};
  const std::optional<size_t> dimension = Dimension(call.number("dim"), *rank);
  if (!dimension) return {};
  return std::vector<size_t>{*dimension};
}

std::vector<Scalar> SumOfExponents(RowCall& c) {
  const Scalar largest = Largest(c)[0];
  return {largest, c.Reduce(Reduction::kSum, [&] { return c.Keep(Exp(c.In(0) - largest)); })};
}

Scalar Softmax(RowCall& c, std::span<const Scalar> reduced) { return c.Kept() / reduced[1]; }

std::vector<Scalar> LogOfSum(RowCall& c) {
  const Scalar largest = Largest(c)[0];
  const Scalar sum = c.Reduce(Reduction::kSum, [&] { return Exp(c.In(0) - largest); });
  return {largest, sum.With(Opcode::kLog)};
}

Scalar LogSoftmax(RowCall& c, std::span<const Scalar> reduced) { return c.In(0) - reduced[0] - reduced[1]; }

// Along the last ones, `weights` are operands that have a number for each place of the row or are None.
std::optional<std::vector<size_t>> NormalizedDimensions(const Call& call, std::initializer_list<size_t> weights) {
  const std::optional<size_t> rank = call.in(0).rank();
  const std::optional<KnownSizes> normalized = call.numbers("normalized_shape");
  if (!rank || !normalized || normalized->empty() || normalized->size() > *rank) return {};
  // What it normalizes over must be what the operand has, else it raises.
  const std::span<const KnownSize> last = std::span(*call.in(0).sizes).last(normalized->size());
  if (!std::equal(last.begin(), last.end(), normalized->begin()) || !normalized->front().is_known()) return {};
  const bool on_gpu = call.in(0).device && call.in(0).device->is_cuda();
  for (const size_t weight : weights) {
    const bool is_none = call.constant(weight) != nullptr && call.constant(weight)->isNone();
    if (is_none) continue;
    if (call.in(weight).sizes != normalized) return {};
    // Another dtype than the operand's raises on a GPU.
    if (on_gpu && call.in(weight).dtype != call.in(0).dtype) return {};
  }
  std::vector<size_t> dimensions(normalized->size());
  std::iota(dimensions.begin(), dimensions.end(), *rank - normalized->size());
  return dimensions;
}

std::optional<std::vector<size_t>> LayerNormDimensions(const Call& call) { return NormalizedDimensions(call, {2, 3}); }

// With a weight of another dtype LibTorch computes it in another way.
std::optional<std::vector<size_t>> RmsNormDimensions(const Call& call) {
  const bool is_alike = call.is_none("weight") || call.in(2).dtype == call.in(0).dtype;
  return is_alike && IsOfFloats(call.in(0)) ? NormalizedDimensions(call, {2}) : std::nullopt;
}

// What elements are multiplied with: one over the root of the mean of their squares.
std::vector<Scalar> RootMeanSquare(RowCall& c) {
  const bool is_double = c.computed() == fuser::Dtype::kFloat64;
  const double least =
      is_double ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()};
  const std::optional<double> epsilon = c.call().is_none("eps") ? least : c.Number("eps");
  if (!epsilon) return {};
  const Scalar squares = c.Reduce(Reduction::kSum, [&] { return c.In(0) * c.In(0); });
  return {1 / SquareRoot(squares / c.Count() + *epsilon)};
}

Scalar Scaled(RowCall& c, std::span<const Scalar> reduced) {
  const Scalar x = c.In(0) * reduced[0];
  return c.call().is_none("weight") ? x : x * c.In(2);
}

// The mean, and what deviations from it are multiplied with.
std::vector<Scalar> Moments(RowCall& c) {
  const std::optional<double> epsilon = c.Number("eps");
  if (!epsilon) return {};
  const Scalar mean = Mean(c)[0];
  return {mean, 1 / SquareRoot(SquaredDeviations(c, mean) / c.Count() + *epsilon)};
}

Scalar Normalized(RowCall& c, std::span<const Scalar> reduced) {
  Scalar x = (c.In(0) - reduced[0]) * reduced[1];
  const auto is_given = [&](size_t i) { return c.call().constant(i) == nullptr || !c.call().constant(i)->isNone(); };
  if (is_given(2) && is_given(3)) return Fma(x, c.In(2), c.In(3));
  if (is_given(2)) x = x * c.In(2);
  if (is_given(3)) x = x + c.In(3);
  return x;
}

// Along the dimensions that it is told, of elements of any dtype. Where it is told none, of what has one dimension of
// several elements: along all of several ones, others of the group may not be read as one row.
std::optional<std::vector<size_t>> NamedDimensions(const Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  std::optional<KnownSizes> dims = call.has("dim") ? call.numbers("dim") : std::nullopt;
  if (sizes && call.is_none("dim")) {
    if (std::ranges::count_if(*sizes, [](KnownSize size) { return size != 1; }) > 1) return {};
    dims.emplace();
    for (size_t i = 0; i < sizes->size(); ++i) dims->push_back(static_cast<int64_t>(i));
  }
  if (!sizes || !dims || dims->empty() || !call.in(0).dtype || !KernelDtype(*call.in(0).dtype)) return {};
  std::vector<size_t> dimensions;
  int64_t length = 1;
  for (const KnownSize& dim : *dims) {
    const std::optional<size_t> dimension = Dimension(dim.constant(), sizes->size());
    if (!dimension || std::ranges::find(dimensions, *dimension) != dimensions.end()) return {};
    const KnownSize size = (*sizes)[*dimension];
    if (!size || *size > kLongestReducedRow) return {};
    length *= *size;
    if (length > kLongestReducedRow) return {};
    dimensions.push_back(*dimension);
  }
  return dimensions;
}

// Of floating-point numbers, in their own dtype.
std::optional<std::vector<size_t>> ReducedDimensions(const Call& call) {
  if (!call.is_none("dtype") || !IsOfFloats(call.in(0))) return {};
  return NamedDimensions(call);
}

// Of what is converted to the result's dtype first: not to a narrower one that LibTorch may round to later, nor to one
// of integers that may not hold it.
std::optional<std::vector<size_t>> ConvertedDimensions(const Call& call) {
  const Dtype dtype = call.out().dtype, from = call.in(0).dtype;
  if (!dtype || !from) return {};
  const bool narrows = c10::isReducedFloatingType(*dtype) || (!c10::isFloatingType(*dtype) && IsOfFloats(call.in(0)));
  return dtype != from && narrows ? std::nullopt : NamedDimensions(call);
}

std::optional<std::vector<size_t>> SumDimensions(const Call& call) {
  return call.out().dtype == c10::kBool ? std::nullopt : ConvertedDimensions(call);
}

// Integers have no mean.
std::optional<std::vector<size_t>> MeanDimensions(const Call& call) {
  return IsOfFloats(call.out()) ? ConvertedDimensions(call) : std::nullopt;
}

// A CPU's kernel rounds every product to half precision.
std::optional<std::vector<size_t>> ProductDimensions(const Call& call) {
  const bool is_reduced = call.out().dtype && c10::isReducedFloatingType(*call.out().dtype);
  return is_reduced ? std::nullopt : SumDimensions(call);
}

// LibTorch finds no place among booleans.
std::optional<std::vector<size_t>> PlaceDimensions(const Call& call) {
  return call.in(0).dtype == c10::kBool ? std::nullopt : NamedDimensions(call);
}

// Of two dimensions, an order means the norm of a matrix.
std::optional<std::vector<size_t>> NormDimensions(const Call& call) {
  std::optional<std::vector<size_t>> dimensions = ReducedDimensions(call);
  return dimensions && (call.is_none("ord") || dimensions->size() == 1) ? dimensions : std::nullopt;
}

std::vector<Scalar> Variance(RowCall& c) {
  double correction = 1;
  if (c.call().has("unbiased")) {
    const std::optional<bool> unbiased = c.call().flag("unbiased");
    if (!unbiased) return {};
    correction = *unbiased ? 1 : 0;
  } else if (!c.call().is_none("correction")) {
    const std::optional<double> given = c.Number("correction");
    if (!given || *given < 0 || *given > 1) return {};
    correction = *given;
  }
  return {SquaredDeviations(c, Mean(c)[0]) / (c.Count() - correction)};
}

std::vector<Scalar> Deviation(RowCall& c) {
  std::vector<Scalar> variance = Variance(c);
  if (!variance.empty()) variance[0] = SquareRoot(variance[0]);
  return variance;
}

// The Euclidean one, that of the sum, and those of the largest and the smallest.
std::vector<Scalar> VectorNorm(RowCall& c) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string_view name = c.call().has("ord") ? "ord" : "p";
  const std::optional<double> order = c.call().is_none(name) ? 2 : c.Number(name);
  const auto size = [&] { return Absolute(c.In(0)); };
  if (order == 2.0) return {SquareRoot(c.Reduce(Reduction::kSum, [&] { return c.In(0) * c.In(0); }))};
  if (order == 1.0) return {c.Reduce(Reduction::kSum, size)};
  if (order == kInfinity) return {c.Reduce(Reduction::kMaximum, size)};
  if (order == -kInfinity) return {c.Reduce(Reduction::kMinimum, size)};
  return {};
}

std::vector<Scalar> SumOfNumbers(RowCall& c) {
  return {c.Reduce(Reduction::kSum, [&] {
    const Scalar x = c.In(0);
    return fuser::IsFloating(x.dtype()) ? Select(x != x, x.Like(0), x) : x;
  })};
}

// A sum divided by a number of integers.
std::vector<Scalar> MeanOfNumbers(RowCall& c) {
  const Scalar count = c.Reduce(Reduction::kSum, [&] {
    const Scalar x = c.In(0);
    return (x == x).To(fuser::Dtype::kInt64);
  });
  return {c.Round(SumOfNumbers(c)[0]) / count.To(c.result()).To(c.computed())};
}

std::vector<Scalar> CountOfNonzero(RowCall& c) {
  return {c.Reduce(Reduction::kSum, [&] { return c.In(0, fuser::Dtype::kBool).To(fuser::Dtype::kInt64); })};
}

std::vector<Scalar> ProductOfAll(RowCall& c) {
  return {c.Reduce(Reduction::kProduct, [&] { return c.In(0); })};
}

std::vector<Scalar> Any(RowCall& c) {
  return {c.Reduce(Reduction::kMaximum, [&] { return c.In(0, fuser::Dtype::kBool); })};
}
std::vector<Scalar> All(RowCall& c) {
  return {c.Reduce(Reduction::kMinimum, [&] { return c.In(0, fuser::Dtype::kBool); })};
}

// The place of an extreme in the row.
std::vector<Scalar> Place(RowCall& c, Reduction reduction) {
  const std::optional<fuser::Dtype> dtype = c.Common(0, 0);
  if (!dtype) return {};
  return {c.Reduce(reduction, [&] { return c.In(0, ComputedIn(*dtype)); })};
}
std::vector<Scalar> PlaceOfLargest(RowCall& c) { return Place(c, Reduction::kArgMaximum); }
std::vector<Scalar> PlaceOfSmallest(RowCall& c) { return Place(c, Reduction::kArgMinimum); }

// As LibTorch makes it of operators, each of which rounds its result.
std::vector<Scalar> LogSumExp(RowCall& c) {
  const Scalar largest = Largest(c)[0];
  const Scalar is_infinite = Absolute(largest) == largest.Like(std::numeric_limits<double>::infinity());
  const Scalar base = Select(is_infinite, largest.Like(0), largest);
  const Scalar sum = c.Reduce(Reduction::kSum, [&] { return c.Round(Exp(c.Round(c.In(0) - base))); });
  return {c.Round(c.Round(sum).With(Opcode::kLog)) + base};
}

}  // namespace

const RowRule kAll = {NamedDimensions, All, nullptr};
const RowRule kAmax = {ConvertedDimensions, Largest, nullptr};
const RowRule kAmin = {ConvertedDimensions, Smallest, nullptr};
const RowRule kAny = {NamedDimensions, Any, nullptr};
const RowRule kArgmax = {PlaceDimensions, PlaceOfLargest, nullptr};
const RowRule kArgmin = {PlaceDimensions, PlaceOfSmallest, nullptr};
const RowRule kCountNonzero = {NamedDimensions, CountOfNonzero, nullptr};
const RowRule kLogSumExp = {ReducedDimensions, LogSumExp, nullptr};
const RowRule kMatrixOrVectorNorm = {NormDimensions, VectorNorm, nullptr};
const RowRule kMean = {MeanDimensions, Mean, nullptr};
const RowRule kNanMean = {ReducedDimensions, MeanOfNumbers, nullptr};
const RowRule kNanSum = {SumDimensions, SumOfNumbers, nullptr};
const RowRule kProd = {ProductDimensions, ProductOfAll, nullptr};
const RowRule kStd = {ReducedDimensions, Deviation, nullptr};
const RowRule kSum = {SumDimensions, Sum, nullptr};
const RowRule kVar = {ReducedDimensions, Variance, nullptr};
const RowRule kVectorNorm = {ReducedDimensions, VectorNorm, nullptr};
const RowRule kLayerNorm = {LayerNormDimensions, Moments, Normalized};
const RowRule kLogSoftmax = {SoftmaxDimensions, LogOfSum, LogSoftmax};
const RowRule kRmsNorm = {RmsNormDimensions, RootMeanSquare, Scaled};
const RowRule kSoftmax = {SoftmaxDimensions, SumOfExponents, Softmax};

}  // namespace hearth::row
