// Scalar rules of functions that few layers are made of.
#include <initializer_list>
#include <limits>
#include <numbers>

#include "jit/definitions/scalar_rules.h"

namespace hearth::scalar {
namespace {

using fuser::Opcode;
using fuser::Scalar;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Scalar Floating(ScalarCall& c, Opcode opcode) { return c.is_floating() ? c.In(0).With(opcode) : Scalar(); }

// Of a result that is bool: the operand's element as it is, computed in its own dtype.
Scalar Own(ScalarCall& c) { return c.In(0, ComputedIn(c.Common(0, 0).value_or(fuser::Dtype::kFloat64))); }

Scalar False(const ScalarCall& c) { return c.Constant(fuser::Dtype::kBool, 0); }

Scalar EqualsInfinity(ScalarCall& c, double infinity) {
  const Scalar x = Own(c);
  return fuser::IsFloating(x.dtype()) ? x == x.Like(infinity) : False(c);
}

// The larger of both and what the logarithm of the sum is above it, of 2 to the power of how far apart they are.
Scalar LogOfSum(ScalarCall& c, Scalar (*excess)(Scalar distance)) {
  if (!c.is_floating()) return {};
  const Scalar a = c.In(0), b = c.In(1);
  const Scalar sum = fuser::Maximum(a, b) + excess(fuser::Absolute(a - b));
  return Select((a == b) & (fuser::Absolute(a) == a.Like(kInfinity)), a, sum);
}

// 0 where `x` is, however large the logarithm.
Scalar TimesLogarithm(ScalarCall& c, Opcode logarithm) {
  if (!c.is_floating() || c.is_reduced_on_gpu()) return {};
  const Scalar x = c.In(0), y = c.In(1);
  const Scalar product = Select(x == x.Like(0), x.Like(0), x * c.Round(y.With(logarithm)));
  return Select(y != y, y, product);
}

// The coefficients begin with that of the highest power.
Scalar Polynomial(Scalar x, std::initializer_list<double> coefficients) {
  Scalar sum;
  for (const double coefficient : coefficients) sum = sum ? sum * x + coefficient : x.Like(coefficient);
  return sum;
}

// LibTorch shifts no booleans.
Scalar Shifted(ScalarCall& c, Opcode opcode) {
  return fuser::IsInteger(c.result()) ? c.In(0).With(opcode, c.In(1)) : Scalar();
}

// The one of two that is a number, if the other is not.
Scalar Extremum(ScalarCall& c, Opcode opcode) {
  const Scalar a = c.In(0), b = c.In(1);
  return Select(a != a, b, Select(b != b, a, a.With(opcode, b)));
}

}  // namespace

Scalar Acosh(ScalarCall& c) { return Floating(c, Opcode::kAcosh); }
Scalar Asinh(ScalarCall& c) { return Floating(c, Opcode::kAsinh); }
Scalar Atanh(ScalarCall& c) { return Floating(c, Opcode::kAtanh); }
Scalar CopySign(ScalarCall& c) { return c.is_floating() ? c.In(0).With(Opcode::kCopySign, c.In(1)) : Scalar(); }
Scalar Deg2rad(ScalarCall& c) { return c.is_floating() ? c.In(0) * (std::numbers::pi / 180) : Scalar(); }
Scalar Entr(ScalarCall& c) {
  if (!c.is_floating() || c.is_reduced_on_gpu()) return {};
  const Scalar x = c.In(0);
  const Scalar otherwise = Select(x == x.Like(0), x.Like(0), Select(x != x, x, x.Like(-kInfinity)));
  return Select(x > 0, -x * c.Round(x.With(Opcode::kLog)), otherwise);
}
// As LibTorch's kernels for a CPU compute it: a quotient of polynomials, and two steps of Newton's method.
Scalar Erfinv(ScalarCall& c) {
  if (!c.is_floating() || c.is_on_gpu()) return {};
  const Scalar y = c.In(0), size = fuser::Absolute(y);
  const Scalar square = y * y;
  const Scalar middle = y * Polynomial(square, {-0.140543331, 0.914624893, -1.645349621, 0.886226899}) /
                        Polynomial(square, {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0});
  const Scalar root = SquareRoot(-((1 - size) / 2).With(Opcode::kLog));
  const Scalar upper = Polynomial(root, {1.641345311, 3.429567803, -1.624906493, -1.970840454});
  const Scalar outer = upper.With(Opcode::kCopySign, y) / Polynomial(root, {1.637067800, 3.543889200, 1.0});
  Scalar x = Select(size <= 0.7, middle, outer);
  for (int step = 0; step < 2; ++step) {
    x = x - (fuser::Erf(x) - y) / (2 * std::numbers::inv_sqrtpi * fuser::Exp(-x * x));
  }
  return Select(size == y.Like(1), y.Like(kInfinity).With(Opcode::kCopySign, y), x);
}
Scalar Fmax(ScalarCall& c) { return Extremum(c, Opcode::kMaximum); }
Scalar Fmin(ScalarCall& c) { return Extremum(c, Opcode::kMinimum); }
Scalar Heaviside(ScalarCall& c) {
  // LibTorch raises otherwise.
  if (c.call().in(0).dtype != c.call().in(1).dtype) return {};
  const Scalar x = c.In(0), zero = x.Like(0);
  return Select(x == zero, c.In(1), (zero < x).To(x.dtype()));
}
Scalar Hypot(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar a = fuser::Absolute(c.In(0)), b = fuser::Absolute(c.In(1));
  // By their ratio, as their squares may be too large or small.
  const Scalar larger = fuser::Maximum(a, b), ratio = fuser::Minimum(a, b) / larger;
  const Scalar length = Select(larger == a.Like(0), larger, larger * SquareRoot(1 + ratio * ratio));
  const Scalar infinity = a.Like(kInfinity);
  return Select((a == infinity) | (b == infinity), infinity, length);
}
Scalar IsClose(ScalarCall& c) {
  const std::optional<double> relative = c.Number("rtol"), absolute = c.Number("atol");
  const std::optional<bool> equal_nan = c.call().flag("equal_nan");
  const std::optional<fuser::Dtype> own = c.Common(0, 0), default_dtype = KernelDtype(DefaultDtype());
  // LibTorch raises where dtypes differ.
  if (c.call().in(0).dtype != c.call().in(1).dtype || !own || !default_dtype) return {};
  if (!relative || !absolute || *relative < 0 || *absolute < 0 || !equal_nan) return {};
  const Scalar a = c.In(0, ComputedIn(*own)), b = c.In(1, ComputedIn(*own));
  Scalar close = a == b;
  if (*equal_nan) close = close | ((a != a) & (b != b));
  if (*relative == 0 && *absolute == 0) return close;
  const fuser::Dtype dtype = fuser::IsFloating(*own) ? *own : *default_dtype;
  const auto rounded = [&](Scalar x) { return x.To(dtype).To(ComputedIn(dtype)); };
  const Scalar x = c.In(0, dtype).To(ComputedIn(dtype)), y = c.In(1, dtype).To(ComputedIn(dtype));
  const Scalar number = c.Constant(c.is_on_gpu() ? ComputedIn(dtype) : dtype, *absolute).To(x.dtype());
  const Scalar allowed = rounded(fuser::Absolute(rounded(y * *relative)) + number);
  const Scalar actual = fuser::Absolute(rounded(x - y));
  return close | ((actual < actual.Like(kInfinity)) & (actual <= allowed));
}
Scalar IsNegInf(ScalarCall& c) { return EqualsInfinity(c, -kInfinity); }
Scalar IsPosInf(ScalarCall& c) { return EqualsInfinity(c, kInfinity); }
Scalar LogAddExp(ScalarCall& c) {
  return LogOfSum(c, [](Scalar distance) { return fuser::Log1p(fuser::Exp(-distance)); });
}
Scalar LogAddExp2(ScalarCall& c) {
  return LogOfSum(c,
                  [](Scalar distance) { return fuser::Log1p((-distance).With(Opcode::kExp2)) * std::numbers::log2e; });
}
Scalar Logit(ScalarCall& c) {
  const std::optional<double> epsilon = c.call().is_none("eps") ? -1 : c.Number("eps");
  if (!c.is_floating() || !epsilon) return {};
  // On a CPU, every step is rounded.
  const auto rounded = [&](Scalar step) { return c.is_on_gpu() ? step : c.Round(step); };
  Scalar x = c.In(0);
  if (*epsilon >= 0) {
    const Scalar low = rounded(x.Like(*epsilon)), high = rounded(1 - low);
    x = Select(x < low, low, Select(x > high, high, x));
  }
  return rounded(x / rounded(1 - x)).With(Opcode::kLog);
}
Scalar Ndtr(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar erf = c.Round(fuser::Erf(c.Round(c.In(0) * (std::numbers::sqrt2 / 2))));
  return c.Round(1 + erf) * 0.5;
}
Scalar Rad2deg(ScalarCall& c) { return c.is_floating() ? c.In(0) * (180 / std::numbers::pi) : Scalar(); }
Scalar ShiftLeft(ScalarCall& c) { return Shifted(c, Opcode::kShiftLeft); }
Scalar ShiftRight(ScalarCall& c) { return Shifted(c, Opcode::kShiftRight); }
Scalar Signbit(ScalarCall& c) {
  const Scalar x = Own(c);
  if (x.dtype() == fuser::Dtype::kBool) return False(c);
  return fuser::IsFloating(x.dtype()) ? x.Like(1).With(Opcode::kCopySign, x) < 0 : x < 0;
}
Scalar Sinc(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0), angle = std::numbers::pi * x;
  return Select(x == x.Like(0), x.Like(1), angle.With(Opcode::kSin) / angle);
}
Scalar Xlog1py(ScalarCall& c) { return TimesLogarithm(c, Opcode::kLog1p); }
Scalar Xlogy(ScalarCall& c) { return TimesLogarithm(c, Opcode::kLog); }

}  // namespace hearth::scalar
