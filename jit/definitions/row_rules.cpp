#include "jit/definitions/row_rules.h"

#include <algorithm>
#include <numeric>

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

std::optional<std::vector<size_t>> LayerNormDimensions(const Call& call) {
  const std::optional<size_t> rank = call.in(0).rank();
  const std::optional<KnownSizes> normalized = call.numbers("normalized_shape");
  if (!rank || !normalized || normalized->empty() || normalized->size() > *rank) return {};
  // What it normalizes over must be what the operand has, else it raises.
  const std::span<const KnownSize> last = std::span(*call.in(0).sizes).last(normalized->size());
  if (!std::equal(last.begin(), last.end(), normalized->begin()) || !normalized->front().is_known()) return {};
  const bool on_gpu = call.in(0).device && call.in(0).device->is_cuda();
  for (const size_t weight : {2, 3}) {
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

// Longer rows are better split among threads, and LibTorch adds them up more exactly.
constexpr int64_t kLongestReducedRow = 16384;

// Of floating-point numbers, in their own dtype.
std::optional<std::vector<size_t>> ReducedDimensions(const Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  const std::optional<KnownSizes> dims = call.has("dim") ? call.numbers("dim") : std::nullopt;
  if (!sizes || !dims || dims->empty() || !call.is_none("dtype") || !IsOfFloats(call.in(0))) return {};
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

// The Euclidean one.
std::vector<Scalar> VectorNorm(RowCall& c) {
  if (c.Number(c.call().has("ord") ? "ord" : "p") != 2.0) return {};
  return {SquareRoot(c.Reduce(Reduction::kSum, [&] { return c.In(0) * c.In(0); }))};
}

}  // namespace

const RowRule kAmax = {ReducedDimensions, Largest, nullptr};
const RowRule kAmin = {ReducedDimensions, Smallest, nullptr};
const RowRule kMean = {ReducedDimensions, Mean, nullptr};
const RowRule kSum = {ReducedDimensions, Sum, nullptr};
const RowRule kVar = {ReducedDimensions, Variance, nullptr};
const RowRule kVectorNorm = {ReducedDimensions, VectorNorm, nullptr};
const RowRule kLayerNorm = {LayerNormDimensions, Moments, Normalized};
const RowRule kLogSoftmax = {SoftmaxDimensions, LogOfSum, LogSoftmax};
const RowRule kSoftmax = {SoftmaxDimensions, SumOfExponents, Softmax};

}  // namespace hearth::row
