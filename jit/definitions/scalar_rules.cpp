#include "jit/definitions/scalar_rules.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace hearth {

using fuser::Opcode;
using fuser::Scalar;

std::optional<fuser::Dtype> KernelDtype(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kBool:
      return fuser::Dtype::kBool;
    case c10::kByte:
      return fuser::Dtype::kUint8;
    case c10::kChar:
      return fuser::Dtype::kInt8;
    case c10::kShort:
      return fuser::Dtype::kInt16;
    case c10::kInt:
      return fuser::Dtype::kInt32;
    case c10::kLong:
      return fuser::Dtype::kInt64;
    case c10::kHalf:
      return fuser::Dtype::kFloat16;
    case c10::kBFloat16:
      return fuser::Dtype::kBFloat16;
    case c10::kFloat:
      return fuser::Dtype::kFloat32;
    case c10::kDouble:
      return fuser::Dtype::kFloat64;
    default:
      return {};
  }
}

fuser::Dtype ComputedIn(fuser::Dtype dtype) { return fuser::IsReduced(dtype) ? fuser::Dtype::kFloat32 : dtype; }
bool IsComputedInFloat(std::optional<c10::ScalarType> dtype) {
  const std::optional<fuser::Dtype> own = dtype ? KernelDtype(*dtype) : std::nullopt;
  return own && ComputedIn(*own) == fuser::Dtype::kFloat32;
}

namespace {

// Of floating point.
double LargestOf(fuser::Dtype dtype) {
  switch (dtype) {
    case fuser::Dtype::kFloat16:
      return 65504;
    case fuser::Dtype::kBFloat16:
      return 0x1.FEp127;
    case fuser::Dtype::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

bool Holds(fuser::Dtype dtype, const c10::Scalar& number) {
  if (!number.isIntegral(/*includeBool=*/true)) return false;
  const int bits = static_cast<int>(8 * fuser::BytesOf(dtype));
  if (bits == 64) return true;
  const int64_t least = dtype == fuser::Dtype::kUint8 ? 0 : -(int64_t{1} << (bits - 1));
  return number.toLong() >= least && number.toLong() < least + (int64_t{1} << bits);
}

}  // namespace

Scalar ScalarCall::In(size_t operand, fuser::Dtype dtype) {
  const c10::IValue* constant = call_.constant(operand);
  if (constant == nullptr || !constant->isScalar()) return element_(operand).To(dtype);
  // As ATen reads a number: what is computed in float32 has it rounded to that.
  if (!fuser::IsInteger(dtype)) return Constant(dtype, constant->toScalar().toDouble());
  if (Holds(dtype, constant->toScalar())) return {builder_, builder_.Integer(constant->toScalar().toLong(), dtype)};
  fits_ = false;
  return {builder_, builder_.Integer(0, dtype)};
}

Scalar ScalarCall::In(size_t operand) {
  const bool is_number = !call_.is_tensor_type(operand) || (call_.in(operand).rank() == 0u && !is_on_gpu());
  return is_number ? In(operand, computed()) : Rounded(operand);
}

std::optional<double> ScalarCall::Number(std::string_view name) const {
  const c10::IValue* constant = call_.constant(name);
  if (constant == nullptr || !(constant->isDouble() || constant->isInt() || constant->isBool())) return {};
  return constant->toScalar().toDouble();
}

bool ScalarCall::CanFill(size_t operand) const {
  const c10::IValue* constant = call_.constant(operand);
  if (constant == nullptr || !constant->isScalar()) return fuser::IsFloating(result_) && !fuser::IsReduced(result_);
  const c10::Scalar number = constant->toScalar();
  if (result_ == fuser::Dtype::kBool) return Holds(result_, number) && (number.toLong() == 0 || number.toLong() == 1);
  if (!fuser::IsFloating(result_)) return Holds(result_, number);
  const double real = number.toDouble();
  return !std::isfinite(real) || std::abs(real) <= LargestOf(result_);
}

std::optional<fuser::Dtype> ScalarCall::Common(size_t a, size_t b) const {
  const Dtype promoted = Promoted(call_, {a, b});
  const std::optional<fuser::Dtype> dtype = promoted ? KernelDtype(*promoted) : std::nullopt;
  return dtype;
}

namespace scalar {
namespace {

// Of one operand, where the result is floating point.
Scalar Floating(ScalarCall& c, Opcode opcode) { return c.is_floating() ? c.In(0).With(opcode) : Scalar(); }

// Integers are rounded already.
Scalar Rounded(ScalarCall& c, Opcode opcode) { return c.is_floating() ? c.In(0).With(opcode) : c.In(0); }

// LibTorch has no arithmetic on booleans but what is named so.
bool IsArithmetic(const ScalarCall& c) { return c.result() != fuser::Dtype::kBool; }

bool IsBool(const ScalarCall& c, size_t operand) {
  return c.call().is_tensor_type(operand) ? c.call().in(operand).dtype == c10::kBool
                                          : c.call().node().input(operand)->type()->kind() == c10::TypeKind::BoolType;
}

Scalar Compared(ScalarCall& c, Scalar (*compare)(Scalar, Scalar)) {
  const std::optional<fuser::Dtype> dtype = c.Common(0, 1);
  if (!dtype) return {};
  return compare(c.In(0, *dtype).To(ComputedIn(*dtype)), c.In(1, *dtype).To(ComputedIn(*dtype)));
}

// Whether an integer division cannot trap.
bool DividesByConstant(const ScalarCall& c) {
  const c10::IValue* divisor = c.call().constant(1);
  return divisor != nullptr && divisor->isInt() && divisor->toInt() != 0;
}

Scalar Divided(ScalarCall& c, Opcode opcode) {
  if (!IsArithmetic(c) || (!c.is_floating() && !DividesByConstant(c))) return {};
  return c.In(0).With(opcode, c.In(1));
}

// Whether LibTorch multiplies by the reciprocal instead, as its kernels for a GPU do where the divisor is a number.
bool HasReciprocal(const ScalarCall& c) { return c.is_floating() && !c.call().is_tensor_type(1) && c.is_on_gpu(); }

Scalar Quotient(ScalarCall& c) {
  if (!HasReciprocal(c)) return c.In(0) / c.In(1);
  return c.In(0) * (1 / c.In(1, fuser::Dtype::kFloat64)).To(c.computed());
}

// How LibTorch rounds its reciprocal is another matter here, and the quotient may then be another whole number.
Scalar DividedToZero(ScalarCall& c) {
  const Scalar quotient = HasReciprocal(c) ? Scalar() : Divided(c, Opcode::kDivide);
  return quotient && c.is_floating() ? quotient.With(Opcode::kTruncate) : quotient;
}

// In half precision LibTorch rounds every step on the way to the quotient, likewise.
Scalar DividedDown(ScalarCall& c) {
  return fuser::IsReduced(c.result()) || HasReciprocal(c) ? Scalar() : Divided(c, Opcode::kFloorDivide);
}

// Of these, LibTorch rounds numbers to half precision; not those of products and quotients.
Scalar RemainderOf(ScalarCall& c, Opcode opcode) {
  if (!IsArithmetic(c) || (!c.is_floating() && !DividesByConstant(c))) return {};
  return c.Rounded(0).With(opcode, c.Rounded(1));
}

Scalar Bitwise(ScalarCall& c, Opcode opcode) {
  if (c.is_floating() || !c.call().is_tensor_type(0)) return {};
  return c.In(0).With(opcode, c.In(1));
}

Scalar Logical(ScalarCall& c, Opcode opcode) {
  return c.In(0, fuser::Dtype::kBool).With(opcode, c.In(1, fuser::Dtype::kBool));
}

// Overloads of max and min that are given one tensor reduce it.
Scalar OfTwoTensors(ScalarCall& c, Opcode opcode) {
  if (c.call().num_inputs() != 2 || !c.call().is_tensor_type(1)) return {};
  return c.In(0).With(opcode, c.In(1));
}

// The second operand times `alpha`, added to (sign 1) or taken from (-1) the first. On a CPU, LibTorch rounds numbers
// to half precision.
Scalar Combined(ScalarCall& c, size_t first, size_t second, double sign) {
  const double alpha = c.call().has("alpha") ? c.Number("alpha").value_or(std::nan("")) : 1;
  if (std::isnan(alpha)) return {};
  const Scalar a = c.is_on_gpu() ? c.In(first) : c.Rounded(first);
  const Scalar b = c.is_on_gpu() ? c.In(second) : c.Rounded(second);
  if (c.is_floating()) {
    if (alpha == 1) return sign > 0 ? a + b : a - b;
    return Fma(b, c.Constant(c.is_on_gpu() ? c.computed() : c.result(), sign * alpha).To(c.computed()), a);
  }
  // LibTorch takes no floating-point number for integers.
  if (c.call().has("alpha") && c.call().constant("alpha")->isDouble()) return {};
  const Scalar scaled = alpha == 1 ? b : b * c.In(c.call().find("alpha"), b.dtype());
  return sign > 0 ? a + scaled : a - scaled;
}

// LibTorch subtracts no booleans, nor from them.
bool IsDifference(const ScalarCall& c) { return IsArithmetic(c) && !IsBool(c, 0) && !IsBool(c, 1); }

Scalar EluOf(ScalarCall& c, std::optional<double> alpha, std::optional<double> scale, std::optional<double> in_scale) {
  if (!c.is_floating() || !alpha || !scale || !in_scale) return {};
  const Scalar x = c.In(0);
  // As LibTorch rounds them.
  const double negative = c.computed() == fuser::Dtype::kFloat32
                              ? static_cast<float>(*alpha) * static_cast<float>(*scale)
                              : *alpha * *scale;
  return Select(x < 0, Expm1(x * *in_scale) * negative, x * *scale);
}

Scalar SigmoidOf(Scalar x) { return 1 / (1 + Exp(-x)); }

Scalar ClampedToSix(Scalar x) { return Minimum(Maximum(x, 0), 6); }

// On a GPU, LibTorch multiplies by a sixth that is rounded to float32, float64 too.
Scalar Sixth(const ScalarCall& c, Scalar x) { return c.is_on_gpu() ? x * (1.0f / 6.0f) : x / 6; }

// A bound of a clamp: a tensor or a number; none where it is None.
Scalar Bound(ScalarCall& c, size_t operand) {
  if (operand >= c.call().num_inputs()) return {};
  const c10::IValue* constant = c.call().constant(operand);
  return constant != nullptr && constant->isNone() ? Scalar() : c.In(operand);
}

}  // namespace

Scalar Abs(ScalarCall& c) { return IsArithmetic(c) ? Absolute(c.In(0)) : Scalar(); }
Scalar Acos(ScalarCall& c) { return Floating(c, Opcode::kAcos); }
Scalar Add(ScalarCall& c) { return IsArithmetic(c) ? Combined(c, 0, 1, 1) : Scalar(); }
Scalar Addcdiv(ScalarCall& c) {
  const std::optional<double> value = c.Number("value");
  if (!c.is_floating() || !value) return {};
  if (c.is_on_gpu()) return Fma(c.Constant(c.computed(), *value), c.In(1) / c.In(2), c.In(0));
  return c.In(0) + c.In(1) * *value / c.In(2);
}
Scalar Addcmul(ScalarCall& c) {
  const std::optional<double> value = c.Number("value");
  if (!c.is_floating() || !value) return {};
  if (c.is_on_gpu()) {
    if (*value == 1) return Fma(c.In(1), c.In(2), c.In(0));
    return Fma(c.Constant(c.computed(), *value), c.In(1) * c.In(2), c.In(0));
  }
  return c.In(0) + c.In(1) * *value * c.In(2);
}
Scalar Asin(ScalarCall& c) { return Floating(c, Opcode::kAsin); }
Scalar Atan(ScalarCall& c) { return Floating(c, Opcode::kAtan); }
Scalar Atan2(ScalarCall& c) { return c.is_floating() ? c.In(0).With(Opcode::kAtan2, c.In(1)) : Scalar(); }
Scalar BitwiseAnd(ScalarCall& c) { return Bitwise(c, Opcode::kAnd); }
Scalar BitwiseNot(ScalarCall& c) { return c.is_floating() ? Scalar() : ~c.In(0); }
Scalar BitwiseOr(ScalarCall& c) { return Bitwise(c, Opcode::kOr); }
Scalar BitwiseXor(ScalarCall& c) { return Bitwise(c, Opcode::kXor); }
Scalar Ceil(ScalarCall& c) { return Rounded(c, Opcode::kCeil); }
Scalar Celu(ScalarCall& c) {
  const std::optional<double> alpha = c.Number("alpha");
  return alpha && *alpha != 0 ? EluOf(c, alpha, 1, 1 / *alpha) : Scalar();
}
Scalar Clamp(ScalarCall& c) {
  if (!IsArithmetic(c)) return {};
  const Scalar low = Bound(c, 1), high = Bound(c, 2);
  if (!low && !high) return {};
  Scalar x = c.In(0);
  if (low) x = fuser::Maximum(x, low);
  if (high) x = fuser::Minimum(x, high);
  return x;
}
Scalar ClampMax(ScalarCall& c) { return IsArithmetic(c) ? fuser::Minimum(c.In(0), c.In(1)) : Scalar(); }
Scalar ClampMin(ScalarCall& c) { return IsArithmetic(c) ? fuser::Maximum(c.In(0), c.In(1)) : Scalar(); }
Scalar Cos(ScalarCall& c) { return Floating(c, Opcode::kCos); }
Scalar Cosh(ScalarCall& c) { return Floating(c, Opcode::kCosh); }
Scalar Divide(ScalarCall& c) {
  if (c.call().is_none("rounding_mode")) return c.is_floating() ? Quotient(c) : Scalar();
  const c10::IValue* mode = c.call().constant("rounding_mode");
  if (mode == nullptr || !mode->isString()) return {};
  if (mode->toStringRef() == "floor") return DividedDown(c);
  return mode->toStringRef() == "trunc" ? DividedToZero(c) : Scalar();
}
Scalar Elu(ScalarCall& c) { return EluOf(c, c.Number("alpha"), c.Number("scale"), c.Number("input_scale")); }
Scalar Equal(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a == b; });
}
Scalar Erf(ScalarCall& c) { return Floating(c, Opcode::kErf); }
Scalar Erfc(ScalarCall& c) { return Floating(c, Opcode::kErfc); }
Scalar Exp(ScalarCall& c) { return Floating(c, Opcode::kExp); }
Scalar Exp2(ScalarCall& c) { return Floating(c, Opcode::kExp2); }
Scalar Expm1(ScalarCall& c) { return Floating(c, Opcode::kExpm1); }
Scalar Floor(ScalarCall& c) { return Rounded(c, Opcode::kFloor); }
Scalar FloorDivide(ScalarCall& c) { return DividedDown(c); }
Scalar Fmod(ScalarCall& c) { return RemainderOf(c, Opcode::kFmod); }
Scalar Frac(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  return x - x.With(Opcode::kTruncate);
}
Scalar Gelu(ScalarCall& c) {
  const c10::IValue* approximate = c.call().constant("approximate");
  if (!c.is_floating() || approximate == nullptr || !approximate->isString()) return {};
  const Scalar x = c.In(0);
  if (approximate->toStringRef() == "none") return x * 0.5 * (1 + fuser::Erf(x * std::numbers::sqrt2 * 0.5));
  if (approximate->toStringRef() != "tanh") return {};
  const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return 0.5 * x * (1 + fuser::Tanh(beta * (x + 0.044715 * (x * x * x))));
}
Scalar Greater(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a > b; });
}
Scalar GreaterOrEqual(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a >= b; });
}
Scalar Hardshrink(ScalarCall& c) {
  const std::optional<double> lambda = c.Number("lambd");
  if (!c.is_floating() || !lambda) return {};
  const Scalar x = c.In(0);
  const Scalar high = c.Constant(c.result(), *lambda).To(c.computed());
  return Select((x >= -high) & (x <= high), x.Like(0), x);
}
Scalar Hardsigmoid(ScalarCall& c) { return c.is_floating() ? Sixth(c, ClampedToSix(c.In(0) + 3)) : Scalar(); }
Scalar Hardswish(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  return Sixth(c, x * ClampedToSix(x + 3));
}
Scalar Hardtanh(ScalarCall& c) {
  const std::optional<double> low = c.Number("min_val"), high = c.Number("max_val");
  return c.is_floating() && low && high ? fuser::Minimum(fuser::Maximum(c.In(0), *low), *high) : Scalar();
}
Scalar IsFinite(ScalarCall& c) {
  const Scalar x = c.In(0, ComputedIn(c.Common(0, 0).value_or(fuser::Dtype::kFloat64)));
  if (!fuser::IsFloating(x.dtype())) return c.Constant(fuser::Dtype::kBool, 1);
  return Absolute(x) < std::numeric_limits<double>::infinity();
}
Scalar IsInf(ScalarCall& c) {
  const Scalar x = c.In(0, ComputedIn(c.Common(0, 0).value_or(fuser::Dtype::kFloat64)));
  if (!fuser::IsFloating(x.dtype())) return c.Constant(fuser::Dtype::kBool, 0);
  return Absolute(x) == x.Like(std::numeric_limits<double>::infinity());
}
Scalar IsNan(ScalarCall& c) {
  const Scalar x = c.In(0, ComputedIn(c.Common(0, 0).value_or(fuser::Dtype::kFloat64)));
  return x != x;
}
Scalar Itself(ScalarCall& c) { return c.In(0); }
Scalar LeakyRelu(ScalarCall& c) {
  const std::optional<double> slope = c.Number("negative_slope");
  if (!c.is_floating() || !slope) return {};
  const Scalar x = c.In(0);
  return Select(x > 0, x, x * *slope);
}
Scalar Lerp(ScalarCall& c) {
  const bool alike = c.call().in(0).dtype == c.call().in(1).dtype &&
                     (!c.call().is_tensor_type(2) || c.call().in(2).dtype == c.call().in(0).dtype);
  if (!c.is_floating() || !alike) return {};
  const Scalar start = c.In(0), end = c.In(1), weight = c.In(2);
  const Scalar difference = end - start;
  return Select(fuser::Absolute(weight) < 0.5, start + weight * difference, end - difference * (1 - weight));
}
Scalar Less(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a < b; });
}
Scalar LessOrEqual(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a <= b; });
}
Scalar Log(ScalarCall& c) { return Floating(c, Opcode::kLog); }
Scalar Log10(ScalarCall& c) { return Floating(c, Opcode::kLog10); }
Scalar Log1p(ScalarCall& c) { return Floating(c, Opcode::kLog1p); }
Scalar Log2(ScalarCall& c) { return Floating(c, Opcode::kLog2); }
Scalar LogSigmoid(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  return fuser::Minimum(x, 0) - fuser::Log1p(fuser::Exp(-Absolute(x)));
}
Scalar LogicalAnd(ScalarCall& c) { return Logical(c, Opcode::kAnd); }
Scalar LogicalNot(ScalarCall& c) { return ~c.In(0, fuser::Dtype::kBool); }
Scalar LogicalOr(ScalarCall& c) { return Logical(c, Opcode::kOr); }
Scalar LogicalXor(ScalarCall& c) { return Logical(c, Opcode::kXor); }
Scalar MaskedFill(ScalarCall& c) {
  const bool is_held = c.call().is_tensor_type(2) ? c.is_floating() : c.CanFill(2);
  return IsBool(c, 1) && is_held ? Select(c.In(1, fuser::Dtype::kBool), c.In(2), c.In(0)) : Scalar();
}
Scalar Maximum(ScalarCall& c) { return OfTwoTensors(c, Opcode::kMaximum); }
Scalar Minimum(ScalarCall& c) { return OfTwoTensors(c, Opcode::kMinimum); }
Scalar Mish(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  return x * fuser::Tanh(fuser::Log1p(fuser::Exp(x)));
}
Scalar Multiply(ScalarCall& c) { return IsArithmetic(c) ? c.In(0) * c.In(1) : c.In(0) & c.In(1); }
Scalar NanToNum(ScalarCall& c) {
  if (!c.is_floating()) return c.In(0);
  const double largest = LargestOf(c.result());
  const double infinity = std::numeric_limits<double>::infinity();
  const Scalar x = c.In(0);
  const auto given = [&](std::string_view name, double otherwise) {
    return c.call().is_none(name) ? std::optional(otherwise) : c.Number(name);
  };
  const std::optional<double> nan = given("nan", 0), high = given("posinf", largest), low = given("neginf", -largest);
  if (!nan || !high || !low) return {};
  const Scalar finite = Select(x == x.Like(infinity), x.Like(*high), Select(x == x.Like(-infinity), x.Like(*low), x));
  return Select(x != x, x.Like(*nan), finite);
}
Scalar Negate(ScalarCall& c) { return IsArithmetic(c) ? -c.In(0) : Scalar(); }
Scalar NotEqual(ScalarCall& c) {
  return Compared(c, [](Scalar a, Scalar b) { return a != b; });
}
Scalar Power(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  const c10::IValue* exponent = c.call().constant(1);
  if (exponent != nullptr && exponent->isScalar() && c.call().is_tensor_type(0)) {
    // Those that LibTorch computes otherwise.
    const double number = exponent->toScalar().toDouble();
    if (number == 1) return x;
    const Scalar square = x * x;
    if (number == 2) return square;
    // Rounded on the way in half precision, but not where a CPU computes powers of float16, nor there their roots: -inf
    // to the power of 0.5 gives inf.
    const bool is_cpus_half = c.result() == fuser::Dtype::kFloat16 && !c.is_on_gpu();
    const auto rounded = [&] { return square.To(c.result()).To(c.computed()); };
    if (number == 3) return (is_cpus_half ? square : rounded()) * x;
    if (number == 0.5 && !is_cpus_half) return SquareRoot(x);
    if (number == -0.5 && !is_cpus_half) return 1 / SquareRoot(x);
    if (number == -1) return 1 / x;
    if (number == -2) return 1 / (c.is_on_gpu() ? rounded() : square);
  }
  return c.Rounded(0).With(Opcode::kPower, c.Rounded(1));
}
Scalar Reciprocal(ScalarCall& c) { return c.is_floating() ? 1 / c.In(0) : Scalar(); }
Scalar Relu(ScalarCall& c) { return IsArithmetic(c) ? fuser::Maximum(c.In(0), 0) : Scalar(); }
Scalar Relu6(ScalarCall& c) { return IsArithmetic(c) ? ClampedToSix(c.In(0)) : Scalar(); }
Scalar Remainder(ScalarCall& c) { return RemainderOf(c, Opcode::kRemainder); }
Scalar ReverseSubtract(ScalarCall& c) { return IsDifference(c) ? Combined(c, 1, 0, -1) : Scalar(); }
Scalar Round(ScalarCall& c) {
  const bool to_integers = !c.call().has("decimals") || c.Number("decimals") == 0;
  return to_integers ? Rounded(c, Opcode::kRound) : Scalar();
}
Scalar Rsqrt(ScalarCall& c) { return c.is_floating() ? 1 / SquareRoot(c.In(0)) : Scalar(); }
Scalar Selu(ScalarCall& c) { return EluOf(c, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1); }
Scalar Sigmoid(ScalarCall& c) { return c.is_floating() ? SigmoidOf(c.In(0)) : Scalar(); }
Scalar Sign(ScalarCall& c) {
  if (!IsArithmetic(c)) return {};
  const Scalar x = c.In(0), zero = x.Like(0);
  return (zero < x).To(x.dtype()) - (x < zero).To(x.dtype());
}
Scalar Silu(ScalarCall& c) {
  if (!c.is_floating()) return {};
  const Scalar x = c.In(0);
  return x / (1 + fuser::Exp(-x));
}
Scalar Sin(ScalarCall& c) { return Floating(c, Opcode::kSin); }
Scalar Sinh(ScalarCall& c) { return Floating(c, Opcode::kSinh); }
Scalar Softplus(ScalarCall& c) {
  const std::optional<double> beta = c.Number("beta"), threshold = c.Number("threshold");
  if (!c.is_floating() || !beta || !threshold) return {};
  const Scalar x = c.In(0), scaled = x * *beta;
  return Select(scaled > *threshold, x, fuser::Log1p(fuser::Exp(scaled)) / *beta);
}
Scalar Softshrink(ScalarCall& c) {
  const std::optional<double> lambda = c.Number("lambd");
  if (!c.is_floating() || !lambda) return {};
  const Scalar x = c.In(0);
  // Not a number stays so. On a GPU LibTorch makes no zero negative.
  const Scalar zero = c.is_on_gpu() ? Absolute(x * 0) : x * 0;
  return Select(x > *lambda, x - *lambda, Select(x < -*lambda, x + *lambda, zero));
}
Scalar Sqrt(ScalarCall& c) { return Floating(c, Opcode::kSquareRoot); }
Scalar Square(ScalarCall& c) {
  if (!IsArithmetic(c)) return {};
  const Scalar x = c.In(0);
  return x * x;
}
Scalar Subtract(ScalarCall& c) { return IsDifference(c) ? Combined(c, 0, 1, -1) : Scalar(); }
Scalar Tan(ScalarCall& c) { return Floating(c, Opcode::kTan); }
Scalar Tanh(ScalarCall& c) { return Floating(c, Opcode::kTanh); }
Scalar Threshold(ScalarCall& c) {
  const std::optional<double> threshold = c.Number("threshold"), value = c.Number("value");
  if (!c.is_floating() || !threshold || !value) return {};
  const Scalar x = c.In(0);
  return Select(x <= *threshold, x.Like(*value), x);
}
Scalar To(ScalarCall& c) { return c.In(0, c.result()); }
Scalar Trunc(ScalarCall& c) { return Rounded(c, Opcode::kTruncate); }
Scalar Where(ScalarCall& c) {
  if (c.call().num_inputs() != 3 || !IsBool(c, 0)) return {};
  return Select(c.In(0, fuser::Dtype::kBool), c.In(1), c.In(2));
}

}  // namespace scalar
}  // namespace hearth
