#include "jit/fuser/llvm/scalar.h"

#include <llvm/IR/Intrinsics.h>

namespace hearth::fuser {
namespace {

Scalar Made(const Scalar& like, llvm::Value* value) { return {like.context(), value}; }

Scalar Unary(llvm::Intrinsic::ID intrinsic, const Scalar& x) {
  return Made(x, x.builder().CreateUnaryIntrinsic(intrinsic, x.value()));
}

Scalar Binary(llvm::Intrinsic::ID intrinsic, const Scalar& a, const Scalar& b) {
  return Made(a, a.builder().CreateBinaryIntrinsic(intrinsic, a.value(), b.value()));
}

llvm::Type* IntegerAsWide(const Scalar& x) { return x.builder().getIntNTy(static_cast<unsigned>(x.width())); }

llvm::Type* FloatAsWide(const Scalar& x) {
  return x.width() == 64 ? x.builder().getDoubleTy() : x.builder().getFloatTy();
}

// To nearest without an instruction for it. From 2^23 or 2^52 on every number is whole; a NaN stays.
Scalar RoundByShift(const Scalar& x) {
  const double first_whole = x.is_double() ? 0x1p52 : 0x1p23;
  const Scalar whole = CopySign((Absolute(x) + first_whole) - first_whole, x);
  return Select(Less(Absolute(x), first_whole), whole, x);
}

// The upper half of the significand, rounded, so that products of two halves are exact. x is not nearly infinite.
Scalar UpperHalf(const Scalar& x) {
  if (x.is_double()) return FloatOfBits((BitsOf(x) + (uint64_t{1} << 26)) & (~uint64_t{0} << 27));
  return FloatOfBits((BitsOf(x) + 0x800) & 0xfffff000);
}

}  // namespace

Scalar Scalar::Like(double number) const { return {*context_, llvm::ConstantFP::get(type(), number)}; }
Scalar Scalar::LikeInteger(uint64_t number) const { return {*context_, llvm::ConstantInt::get(type(), number)}; }

Scalar operator+(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFAdd(a.value(), b.value()) : builder.CreateAdd(a.value(), b.value()));
}
Scalar operator-(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFSub(a.value(), b.value()) : builder.CreateSub(a.value(), b.value()));
}
Scalar operator*(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFMul(a.value(), b.value()) : builder.CreateMul(a.value(), b.value()));
}
Scalar operator/(Scalar a, Scalar b) { return Made(a, a.builder().CreateFDiv(a.value(), b.value())); }
Scalar operator-(Scalar a) {
  return Made(a, a.is_floating() ? a.builder().CreateFNeg(a.value()) : a.builder().CreateNeg(a.value()));
}
Scalar operator&(Scalar a, Scalar b) { return Made(a, a.builder().CreateAnd(a.value(), b.value())); }
Scalar operator|(Scalar a, Scalar b) { return Made(a, a.builder().CreateOr(a.value(), b.value())); }
Scalar operator^(Scalar a, Scalar b) { return Made(a, a.builder().CreateXor(a.value(), b.value())); }
Scalar operator<<(Scalar a, Scalar b) { return Made(a, a.builder().CreateShl(a.value(), b.value())); }
Scalar operator>>(Scalar a, Scalar b) { return Made(a, a.builder().CreateAShr(a.value(), b.value())); }
Scalar operator!(Scalar condition) { return Made(condition, condition.builder().CreateNot(condition.value())); }
Scalar ShiftRightLogical(Scalar a, Scalar b) { return Made(a, a.builder().CreateLShr(a.value(), b.value())); }

Scalar Less(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOLT(a.value(), b.value()) : builder.CreateICmpSLT(a.value(), b.value()));
}
Scalar LessOrEqual(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOLE(a.value(), b.value()) : builder.CreateICmpSLE(a.value(), b.value()));
}
Scalar Equal(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOEQ(a.value(), b.value()) : builder.CreateICmpEQ(a.value(), b.value()));
}
Scalar NotEqual(Scalar a, Scalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpUNE(a.value(), b.value()) : builder.CreateICmpNE(a.value(), b.value()));
}
Scalar IsNan(Scalar a) { return Made(a, a.builder().CreateFCmpUNO(a.value(), a.value())); }
Scalar Select(Scalar condition, Scalar a, Scalar b) {
  return Made(a, a.builder().CreateSelect(condition.value(), a.value(), b.value()));
}

Scalar MulAdd(Scalar a, Scalar b, Scalar c) {
  if (!a.context().has_fma) return a * b + c;
  return Made(a, a.builder().CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.value(), b.value(), c.value()}));
}

Scalar Absolute(Scalar x) { return Unary(llvm::Intrinsic::fabs, x); }
Scalar CopySign(Scalar magnitude, Scalar sign) { return Binary(llvm::Intrinsic::copysign, magnitude, sign); }
Scalar SquareRoot(Scalar x) { return Unary(llvm::Intrinsic::sqrt, x); }

Scalar Floor(Scalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::floor, x);
  const Scalar round = RoundByShift(x);
  return CopySign(Select(Less(x, round), round - 1.0, round), x);
}
Scalar Ceil(Scalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::ceil, x);
  const Scalar round = RoundByShift(x);
  return CopySign(Select(Less(round, x), round + 1.0, round), x);
}
Scalar Truncate(Scalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::trunc, x);
  const Scalar magnitude = Absolute(x);
  const Scalar round = RoundByShift(magnitude);
  return CopySign(Select(Less(magnitude, round), round - 1.0, round), x);
}
Scalar Round(Scalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::roundeven, x);
  return RoundByShift(x);
}

Scalar Minimum(Scalar a, Scalar b) {
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  const llvm::IRBuilder<>::FastMathFlagGuard guard(a.builder());
  a.builder().setFastMathFlags(flags);
  return Binary(llvm::Intrinsic::minimum, a, b);
}
Scalar Maximum(Scalar a, Scalar b) {
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  const llvm::IRBuilder<>::FastMathFlagGuard guard(a.builder());
  a.builder().setFastMathFlags(flags);
  return Binary(llvm::Intrinsic::maximum, a, b);
}
Scalar ClampBelow(Scalar x, double low) { return Select(Less(x, low), low, x); }
Scalar ClampAbove(Scalar x, double high) { return Select(Less(high, x), high, x); }

Scalar BitsOf(Scalar x) { return Made(x, x.builder().CreateBitCast(x.value(), IntegerAsWide(x))); }
Scalar FloatOfBits(Scalar bits) { return Made(bits, bits.builder().CreateBitCast(bits.value(), FloatAsWide(bits))); }
Scalar FloatOfInteger(Scalar integer) {
  return Made(integer, integer.builder().CreateSIToFP(integer.value(), FloatAsWide(integer)));
}
Scalar ToDouble(Scalar x) { return Made(x, x.builder().CreateFPExt(x.value(), x.builder().getDoubleTy())); }
Scalar ToFloat(Scalar x) { return Made(x, x.builder().CreateFPTrunc(x.value(), x.builder().getFloatTy())); }

Scalar Polynomial(Scalar x, std::span<const double> coefficients) {
  Scalar sum = x.Like(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = MulAdd(sum, x, coefficients[i]);
  return sum;
}

Scalar ProductTail(Scalar a, Scalar b, Scalar product) {
  if (a.context().has_fma) return MulAdd(a, b, -product);
  const Scalar a_high = UpperHalf(a);
  const Scalar b_high = UpperHalf(b);
  const Scalar a_low = a - a_high;
  const Scalar b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

}  // namespace hearth::fuser
