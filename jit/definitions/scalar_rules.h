// What one element of a pointwise operator's result is computed of: rules that fused kernels are made of, as the
// definitions' field `scalar` names them.
//
// Arithmetic is that of LibTorch's kernels: half precision is computed in float32 and rounded after each operator.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "jit/definitions/fact_rules.h"
#include "jit/fuser/ir/scalar.h"

namespace hearth {

// The kernel's dtype for a tensor's; null: kernels have none.
std::optional<fuser::Dtype> KernelDtype(c10::ScalarType dtype);
// In which its elements are computed: float32 for half precision.
fuser::Dtype ComputedIn(fuser::Dtype dtype);
// Whether that is float32: of float32 itself and of half precision.
bool IsComputedInFloat(std::optional<c10::ScalarType> dtype);

// A node as these rules see it: the elements of its operands in one place.
class ScalarCall {
 public:
  // `element` gives that of an operand that is a tensor, or a number that is no constant, in the operand's own dtype.
  // The facts of the node's output are known to `call`, and its dtype is one that kernels have.
  ScalarCall(const Call& call, fuser::Dtype result, fuser::KernelBuilder& builder,
             std::function<fuser::Scalar(size_t operand)> element)
      : call_(call), result_(result), builder_(builder), element_(std::move(element)) {}

  const Call& call() const { return call_; }
  // The result's dtype, and in which it is computed.
  fuser::Dtype result() const { return result_; }
  fuser::Dtype computed() const { return ComputedIn(result_); }
  bool is_floating() const { return fuser::IsFloating(result_); }
  // Whether it is LibTorch's kernels for a GPU that the result should agree with: some round otherwise than those for a
  // CPU.
  bool is_on_gpu() const { return call_.out().device && call_.out().device->is_cuda(); }
  // The same of a result in half precision, which they mostly round once, where those for a CPU round every step.
  bool is_reduced_on_gpu() const { return fuser::IsReduced(result_) && is_on_gpu(); }

  // In that dtype; without one, in which the result is computed.
  fuser::Scalar In(size_t operand, fuser::Dtype dtype);
  // A tensor of another dtype is converted to the result's first, as LibTorch does; a number is not, nor on a CPU a
  // tensor without dimensions.
  fuser::Scalar In(size_t operand);
  // A number too.
  fuser::Scalar Rounded(size_t operand) { return In(operand, result_).To(computed()); }
  // What is computed, rounded as a result of LibTorch's operators would be.
  fuser::Scalar Round(fuser::Scalar value) const { return value.To(result_).To(computed()); }
  fuser::Scalar Constant(fuser::Dtype dtype, double value) const { return {builder_, builder_.Constant(dtype, value)}; }
  // The operand of that name if it is a constant number.
  std::optional<double> Number(std::string_view name) const;
  // Whether LibTorch fills elements of the result with this number: it refuses one that they cannot hold.
  bool CanFill(size_t operand) const;
  // The dtype that type promotion gives these two operands; null: kernels have none.
  std::optional<fuser::Dtype> Common(size_t a, size_t b) const;

  // False once a number was asked for in a dtype of integers that does not hold it: what LibTorch does then is its own
  // to say, and the kernel is none.
  bool fits() const { return fits_; }

 private:
  const Call& call_;
  const fuser::Dtype result_;
  fuser::KernelBuilder& builder_;
  const std::function<fuser::Scalar(size_t)> element_;
  bool fits_ = true;
};

// Named as the operators are. Each gives the element in whatever dtype it was computed; none where a kernel cannot: an
// argument that is no constant, an overload that means something else.
namespace scalar {

fuser::Scalar Abs(ScalarCall& c);
fuser::Scalar Acos(ScalarCall& c);
fuser::Scalar Acosh(ScalarCall& c);
fuser::Scalar Add(ScalarCall& c);
fuser::Scalar Addcdiv(ScalarCall& c);
fuser::Scalar Addcmul(ScalarCall& c);
fuser::Scalar Asin(ScalarCall& c);
fuser::Scalar Asinh(ScalarCall& c);
fuser::Scalar Atan(ScalarCall& c);
fuser::Scalar Atan2(ScalarCall& c);
fuser::Scalar Atanh(ScalarCall& c);
fuser::Scalar BinaryCrossEntropyWithLogits(ScalarCall& c);
fuser::Scalar BitwiseAnd(ScalarCall& c);
fuser::Scalar BitwiseNot(ScalarCall& c);
fuser::Scalar BitwiseOr(ScalarCall& c);
fuser::Scalar BitwiseXor(ScalarCall& c);
fuser::Scalar Ceil(ScalarCall& c);
fuser::Scalar Celu(ScalarCall& c);
fuser::Scalar Clamp(ScalarCall& c);
fuser::Scalar ClampMax(ScalarCall& c);
fuser::Scalar ClampMin(ScalarCall& c);
fuser::Scalar Copied(ScalarCall& c);
fuser::Scalar CopySign(ScalarCall& c);
fuser::Scalar Cos(ScalarCall& c);
fuser::Scalar Cosh(ScalarCall& c);
fuser::Scalar Deg2rad(ScalarCall& c);
fuser::Scalar Divide(ScalarCall& c);
fuser::Scalar Elu(ScalarCall& c);
fuser::Scalar Entr(ScalarCall& c);
fuser::Scalar Equal(ScalarCall& c);
fuser::Scalar Erf(ScalarCall& c);
fuser::Scalar Erfc(ScalarCall& c);
fuser::Scalar Erfinv(ScalarCall& c);
fuser::Scalar Exp(ScalarCall& c);
fuser::Scalar Exp2(ScalarCall& c);
fuser::Scalar Expm1(ScalarCall& c);
fuser::Scalar Filled(ScalarCall& c);
fuser::Scalar Floor(ScalarCall& c);
fuser::Scalar FloorDivide(ScalarCall& c);
fuser::Scalar Fmax(ScalarCall& c);
fuser::Scalar Fmin(ScalarCall& c);
fuser::Scalar Fmod(ScalarCall& c);
fuser::Scalar Frac(ScalarCall& c);
fuser::Scalar Gelu(ScalarCall& c);
fuser::Scalar Greater(ScalarCall& c);
fuser::Scalar GreaterOrEqual(ScalarCall& c);
fuser::Scalar Hardshrink(ScalarCall& c);
fuser::Scalar Hardsigmoid(ScalarCall& c);
fuser::Scalar Hardswish(ScalarCall& c);
fuser::Scalar Hardtanh(ScalarCall& c);
fuser::Scalar Heaviside(ScalarCall& c);
fuser::Scalar HingeEmbeddingLoss(ScalarCall& c);
fuser::Scalar HuberLoss(ScalarCall& c);
fuser::Scalar Hypot(ScalarCall& c);
fuser::Scalar IsClose(ScalarCall& c);
fuser::Scalar IsFinite(ScalarCall& c);
fuser::Scalar IsInf(ScalarCall& c);
fuser::Scalar IsNan(ScalarCall& c);
fuser::Scalar IsNegInf(ScalarCall& c);
fuser::Scalar IsPosInf(ScalarCall& c);
fuser::Scalar Itself(ScalarCall& c);
fuser::Scalar KlDivergence(ScalarCall& c);
fuser::Scalar L1Loss(ScalarCall& c);
fuser::Scalar LeakyRelu(ScalarCall& c);
fuser::Scalar Lerp(ScalarCall& c);
fuser::Scalar Less(ScalarCall& c);
fuser::Scalar LessOrEqual(ScalarCall& c);
fuser::Scalar Log(ScalarCall& c);
fuser::Scalar Log10(ScalarCall& c);
fuser::Scalar Log1p(ScalarCall& c);
fuser::Scalar Log2(ScalarCall& c);
fuser::Scalar LogAddExp(ScalarCall& c);
fuser::Scalar LogAddExp2(ScalarCall& c);
fuser::Scalar LogicalAnd(ScalarCall& c);
fuser::Scalar LogicalNot(ScalarCall& c);
fuser::Scalar LogicalOr(ScalarCall& c);
fuser::Scalar LogicalXor(ScalarCall& c);
fuser::Scalar Logit(ScalarCall& c);
fuser::Scalar LogSigmoid(ScalarCall& c);
fuser::Scalar MarginRankingLoss(ScalarCall& c);
fuser::Scalar MaskedFill(ScalarCall& c);
fuser::Scalar Maximum(ScalarCall& c);
fuser::Scalar Minimum(ScalarCall& c);
fuser::Scalar Mish(ScalarCall& c);
fuser::Scalar MseLoss(ScalarCall& c);
fuser::Scalar Multiply(ScalarCall& c);
fuser::Scalar NanToNum(ScalarCall& c);
fuser::Scalar Ndtr(ScalarCall& c);
fuser::Scalar Negate(ScalarCall& c);
fuser::Scalar NotEqual(ScalarCall& c);
fuser::Scalar Ones(ScalarCall& c);
fuser::Scalar PoissonNllLoss(ScalarCall& c);
fuser::Scalar Power(ScalarCall& c);
fuser::Scalar Rad2deg(ScalarCall& c);
fuser::Scalar Reciprocal(ScalarCall& c);
fuser::Scalar Relu(ScalarCall& c);
fuser::Scalar Relu6(ScalarCall& c);
fuser::Scalar Remainder(ScalarCall& c);
fuser::Scalar ReverseSubtract(ScalarCall& c);
fuser::Scalar Round(ScalarCall& c);
fuser::Scalar Rsqrt(ScalarCall& c);
fuser::Scalar Selu(ScalarCall& c);
fuser::Scalar ShiftLeft(ScalarCall& c);
fuser::Scalar ShiftRight(ScalarCall& c);
fuser::Scalar Sigmoid(ScalarCall& c);
fuser::Scalar Sign(ScalarCall& c);
fuser::Scalar Signbit(ScalarCall& c);
fuser::Scalar Silu(ScalarCall& c);
fuser::Scalar Sin(ScalarCall& c);
fuser::Scalar Sinc(ScalarCall& c);
fuser::Scalar Sinh(ScalarCall& c);
fuser::Scalar SmoothL1Loss(ScalarCall& c);
fuser::Scalar SoftMarginLoss(ScalarCall& c);
fuser::Scalar Softplus(ScalarCall& c);
fuser::Scalar Softshrink(ScalarCall& c);
fuser::Scalar Sqrt(ScalarCall& c);
fuser::Scalar Square(ScalarCall& c);
fuser::Scalar Subtract(ScalarCall& c);
fuser::Scalar Tan(ScalarCall& c);
fuser::Scalar Tanh(ScalarCall& c);
fuser::Scalar Threshold(ScalarCall& c);
fuser::Scalar To(ScalarCall& c);
fuser::Scalar Trunc(ScalarCall& c);
fuser::Scalar Where(ScalarCall& c);
fuser::Scalar Xlog1py(ScalarCall& c);
fuser::Scalar Xlogy(ScalarCall& c);
fuser::Scalar Zeros(ScalarCall& c);

}  // namespace scalar
}  // namespace hearth
