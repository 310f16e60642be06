// Row rules of scans. A row is one thread's, so they are for a CPU.
#include <limits>

#include "jit/definitions/row_rules.h"

namespace hearth::row {
namespace {

using fuser::Opcode;
using fuser::Scalar;

std::optional<std::vector<size_t>> ScannedDimension(const Call& call) {
  const ValueFacts& x = call.in(0);
  if (!x.sizes || !x.dtype || !KernelDtype(*x.dtype) || !x.device || !x.device->is_cpu()) return {};
  const std::optional<size_t> dimension = Dimension(call.number("dim"), x.sizes->size());
  if (!dimension) return {};
  const KnownSize size = (*x.sizes)[*dimension];
  const bool is_short = size && *size <= kLongestReducedRow;
  // Floating-point numbers that integers cannot hold are LibTorch's to convert.
  const bool is_whole = call.out().dtype && !c10::isFloatingType(*call.out().dtype) && c10::isFloatingType(*x.dtype);
  if (!is_short || is_whole || call.out().dtype == c10::kBool) return {};
  return std::vector<size_t>{*dimension};
}

std::optional<std::vector<size_t>> FloatingScannedDimension(const Call& call) {
  const bool is_floating = call.in(0).dtype && c10::isFloatingType(*call.in(0).dtype);
  return is_floating ? ScannedDimension(call) : std::nullopt;
}

// In which LibTorch accumulates on a CPU.
fuser::Dtype AccumulatedIn(const RowCall& c) {
  if (!c.is_floating()) return fuser::Dtype::kInt64;
  return fuser::IsReduced(c.result()) ? fuser::Dtype::kFloat32 : fuser::Dtype::kFloat64;
}

std::vector<Scalar> Scanned(RowCall& c, double initial, Scalar (*combine)(Scalar carried, Scalar x)) {
  const Scalar first = c.Constant(AccumulatedIn(c), initial);
  c.Scan(first, [&](Scalar carried) { return combine(carried, c.Rounded(0).To(carried.dtype())); });
  return {first};
}

std::vector<Scalar> Sums(RowCall& c) {
  return Scanned(c, 0, [](Scalar carried, Scalar x) { return carried + x; });
}
std::vector<Scalar> Products(RowCall& c) {
  return Scanned(c, 1, [](Scalar carried, Scalar x) { return carried * x; });
}
std::vector<Scalar> LogarithmsOfSums(RowCall& c) {
  return Scanned(c, -std::numeric_limits<double>::infinity(), [](Scalar carried, Scalar x) {
    const Scalar smaller = fuser::Minimum(x, carried), larger = fuser::Maximum(x, carried);
    const Scalar sum = fuser::Log1p(fuser::Exp(smaller - larger)) + larger;
    const Scalar is_infinite = fuser::Absolute(smaller) == x.Like(std::numeric_limits<double>::infinity());
    return Select((smaller == larger) & is_infinite, x, sum);
  });
}

Scalar AtPlace(RowCall& c, std::span<const Scalar>) { return c.Kept(); }

}  // namespace

const RowRule kCumprod = {ScannedDimension, Products, AtPlace};
const RowRule kCumsum = {ScannedDimension, Sums, AtPlace};
const RowRule kLogCumsumExp = {FloatingScannedDimension, LogarithmsOfSums, AtPlace};

}  // namespace hearth::row
