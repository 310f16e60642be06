// Row rules of reductions of two tensors of the same sizes and dtype. LibTorch makes them of several operators, each of
// which rounds its result.
#include <algorithm>
#include <limits>
#include <numeric>

#include "jit/definitions/row_rules.h"

namespace hearth::row {
namespace {

using fuser::Reduction;
using fuser::Scalar;

// All dimensions, if the row that they are is not too long; null unless the tensors are alike.
std::optional<std::vector<size_t>> AllDimensions(const Call& call) {
  const ValueFacts &a = call.in(0), &b = call.in(1);
  const auto dtype = a.dtype ? KernelDtype(*a.dtype) : std::nullopt;
  if (!dtype || !fuser::IsFloating(*dtype) || a.dtype != b.dtype || !a.sizes || a.sizes != b.sizes) return {};
  std::vector<size_t> dimensions(a.sizes->size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return dimensions;
}

std::optional<std::vector<size_t>> OfShortRow(const Call& call, std::vector<size_t> dimensions) {
  int64_t length = 1;
  for (const size_t dimension : dimensions) {
    const KnownSize size = (*call.in(0).sizes)[dimension];
    if (!size || *size > kLongestReducedRow) return {};
    length *= *size;
    if (length > kLongestReducedRow) return {};
  }
  return dimensions;
}

// Of one dimension of several elements: along all of several ones, others of the group may not be read as one row.
std::optional<std::vector<size_t>> WholeTensors(const Call& call) {
  const std::optional<std::vector<size_t>> all = AllDimensions(call);
  if (!all || std::ranges::count_if(*call.in(0).sizes, [](KnownSize size) { return size != 1; }) > 1) return {};
  return OfShortRow(call, *all);
}

std::optional<std::vector<size_t>> LastDimension(const Call& call) {
  const std::optional<std::vector<size_t>> all = AllDimensions(call);
  return all && !all->empty() ? OfShortRow(call, {all->back()}) : std::nullopt;
}

std::optional<std::vector<size_t>> OneDimension(const Call& call) {
  const std::optional<std::vector<size_t>> all = AllDimensions(call);
  const auto dimension = all ? Dimension(call.number("dim"), all->size()) : std::nullopt;
  return dimension ? OfShortRow(call, {*dimension}) : std::nullopt;
}

// Of a difference. Nothing for other orders.
std::vector<Scalar> NormOf(RowCall& c, const RowCall::Element& difference) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<double> order = c.Number("p");
  const auto size = [&] { return Absolute(difference()); };
  const auto square = [&] {
    const Scalar x = difference();
    return x * x;
  };
  if (order == 2.0) return {SquareRoot(c.Reduce(Reduction::kSum, square))};
  if (order == 1.0) return {c.Reduce(Reduction::kSum, size)};
  if (order == kInfinity) return {c.Reduce(Reduction::kMaximum, size)};
  return {};
}

std::vector<Scalar> Distance(RowCall& c) {
  return NormOf(c, [&] { return c.Round(c.In(0) - c.In(1)); });
}

// On a CPU, LibTorch rounds the number that it adds to half precision.
std::vector<Scalar> PairwiseDistance(RowCall& c) {
  const std::optional<double> epsilon = c.Number("eps");
  if (!epsilon) return {};
  const Scalar number = c.Constant(c.is_on_gpu() ? c.computed() : c.result(), *epsilon).To(c.computed());
  return NormOf(c, [&] { return c.Round(c.Round(c.In(0) - c.In(1)) + number); });
}

// Of several dimensions: of one, LibTorch rounds otherwise.
std::optional<std::vector<size_t>> OneOfSeveralDimensions(const Call& call) {
  return call.in(0).rank().value_or(0) > 1 ? OneDimension(call) : std::nullopt;
}

std::vector<Scalar> SumOfProducts(RowCall& c) {
  return {c.Reduce(Reduction::kSum, [&] { return c.Round(c.In(0) * c.In(1)); })};
}

std::vector<Scalar> CosineSimilarity(RowCall& c) {
  const std::optional<double> epsilon = c.Number("eps");
  if (!epsilon) return {};
  const auto length = [&](size_t operand) {
    const Scalar norm = SquareRoot(c.Reduce(Reduction::kSum, [&] { return c.In(operand) * c.In(operand); }));
    return fuser::Maximum(c.Round(norm), c.Constant(c.result(), *epsilon).To(c.computed()));
  };
  const Scalar a = length(0), b = length(1);
  return {c.Reduce(Reduction::kSum, [&] { return c.Round(c.Round(c.In(0) / a) * c.Round(c.In(1) / b)); })};
}

}  // namespace

const RowRule kCosineSimilarity = {OneDimension, CosineSimilarity, nullptr};
const RowRule kDistance = {WholeTensors, Distance, nullptr};
const RowRule kPairwiseDistance = {LastDimension, PairwiseDistance, nullptr};
const RowRule kVectorDot = {OneOfSeveralDimensions, SumOfProducts, nullptr};

}  // namespace hearth::row
