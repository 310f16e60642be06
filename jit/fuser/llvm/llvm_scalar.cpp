#include "jit/fuser/llvm/llvm_scalar.h"

#include <llvm/IR/Intrinsics.h>

namespace hearth::fuser {
namespace {

LlvmScalar Made(const LlvmScalar& like, llvm::Value* value) { return {like.context(), value}; }

LlvmScalar Unary(llvm::Intrinsic::ID intrinsic, const LlvmScalar& x) {
  return Made(x, x.builder().CreateUnaryIntrinsic(intrinsic, x.value()));
}

LlvmScalar Binary(llvm::Intrinsic::ID intrinsic, const LlvmScalar& a, const LlvmScalar& b) {
  return Made(a, a.builder().CreateBinaryIntrinsic(intrinsic, a.value(), b.value()));
}

llvm::Type* IntegerAsWide(const LlvmScalar& x) { return x.builder().getIntNTy(static_cast<unsigned>(x.width())); }

llvm::Type* FloatAsWide(const LlvmScalar& x) {
  return x.width() == 64 ? x.builder().getDoubleTy() : x.builder().getFloatTy();
}

// To nearest without an instruction for it. From 2^23 or 2^52 on every number is whole; a NaN stays.
LlvmScalar RoundByShift(const LlvmScalar& x) {
  const double first_whole = x.is_double() ? 0x1p52 : 0x1p23;
  const LlvmScalar whole = CopySign((Absolute(x) + first_whole) - first_whole, x);
  return Select(Less(Absolute(x), first_whole), whole, x);
}

// The upper half of the significand, rounded, so that products of two halves are exact. x is not nearly infinite.
LlvmScalar UpperHalf(const LlvmScalar& x) {
  if (x.is_double()) return FloatOfBits((BitsOf(x) + (uint64_t{1} << 26)) & (~uint64_t{0} << 27));
  return FloatOfBits((BitsOf(x) + 0x800) & 0xfffff000);
}

}  // namespace

LlvmScalar LlvmScalar::Like(double number) const { return {*context_, llvm::ConstantFP::get(type(), number)}; }
LlvmScalar LlvmScalar::LikeInteger(uint64_t number) const {
  return {*context_, llvm::ConstantInt::get(type(), number)};
}

LlvmScalar operator+(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFAdd(a.value(), b.value()) : builder.CreateAdd(a.value(), b.value()));
}
LlvmScalar operator-(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFSub(a.value(), b.value()) : builder.CreateSub(a.value(), b.value()));
}
LlvmScalar operator*(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(a, a.is_floating() ? builder.CreateFMul(a.value(), b.value()) : builder.CreateMul(a.value(), b.value()));
}
LlvmScalar operator/(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateFDiv(a.value(), b.value())); }
LlvmScalar operator-(LlvmScalar a) {
  return Made(a, a.is_floating() ? a.builder().CreateFNeg(a.value()) : a.builder().CreateNeg(a.value()));
}
LlvmScalar operator&(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateAnd(a.value(), b.value())); }
LlvmScalar operator|(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateOr(a.value(), b.value())); }
LlvmScalar operator^(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateXor(a.value(), b.value())); }
LlvmScalar operator<<(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateShl(a.value(), b.value())); }
LlvmScalar operator>>(LlvmScalar a, LlvmScalar b) { return Made(a, a.builder().CreateAShr(a.value(), b.value())); }
LlvmScalar operator!(LlvmScalar condition) { return Made(condition, condition.builder().CreateNot(condition.value())); }
LlvmScalar ShiftRightLogical(LlvmScalar a, LlvmScalar b) {
  return Made(a, a.builder().CreateLShr(a.value(), b.value()));
}

LlvmScalar Less(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOLT(a.value(), b.value()) : builder.CreateICmpSLT(a.value(), b.value()));
}
LlvmScalar LessOrEqual(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOLE(a.value(), b.value()) : builder.CreateICmpSLE(a.value(), b.value()));
}
LlvmScalar Equal(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpOEQ(a.value(), b.value()) : builder.CreateICmpEQ(a.value(), b.value()));
}
LlvmScalar NotEqual(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return Made(
      a, a.is_floating() ? builder.CreateFCmpUNE(a.value(), b.value()) : builder.CreateICmpNE(a.value(), b.value()));
}
LlvmScalar IsNan(LlvmScalar a) { return Made(a, a.builder().CreateFCmpUNO(a.value(), a.value())); }
LlvmScalar Select(LlvmScalar condition, LlvmScalar a, LlvmScalar b) {
  return Made(a, a.builder().CreateSelect(condition.value(), a.value(), b.value()));
}

LlvmScalar MulAdd(LlvmScalar a, LlvmScalar b, LlvmScalar c) {
  if (!a.context().has_fma) return a * b + c;
  return Made(a, a.builder().CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.value(), b.value(), c.value()}));
}

LlvmScalar Absolute(LlvmScalar x) { return Unary(llvm::Intrinsic::fabs, x); }
LlvmScalar CopySign(LlvmScalar magnitude, LlvmScalar sign) {
  return Binary(llvm::Intrinsic::copysign, magnitude, sign);
}
LlvmScalar SquareRoot(LlvmScalar x) { return Unary(llvm::Intrinsic::sqrt, x); }

LlvmScalar Floor(LlvmScalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::floor, x);
  const LlvmScalar round = RoundByShift(x);
  return CopySign(Select(Less(x, round), round - 1.0, round), x);
}
LlvmScalar Ceil(LlvmScalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::ceil, x);
  const LlvmScalar round = RoundByShift(x);
  return CopySign(Select(Less(round, x), round + 1.0, round), x);
}
LlvmScalar Truncate(LlvmScalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::trunc, x);
  const LlvmScalar magnitude = Absolute(x);
  const LlvmScalar round = RoundByShift(magnitude);
  return CopySign(Select(Less(magnitude, round), round - 1.0, round), x);
}
LlvmScalar Round(LlvmScalar x) {
  if (x.context().has_rounding) return Unary(llvm::Intrinsic::roundeven, x);
  return RoundByShift(x);
}

LlvmScalar Minimum(LlvmScalar a, LlvmScalar b) {
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  const llvm::IRBuilder<>::FastMathFlagGuard guard(a.builder());
  a.builder().setFastMathFlags(flags);
  return Binary(llvm::Intrinsic::minimum, a, b);
}
LlvmScalar Maximum(LlvmScalar a, LlvmScalar b) {
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  const llvm::IRBuilder<>::FastMathFlagGuard guard(a.builder());
  a.builder().setFastMathFlags(flags);
  return Binary(llvm::Intrinsic::maximum, a, b);
}
LlvmScalar ClampBelow(LlvmScalar x, double low) { return Select(Less(x, low), low, x); }
LlvmScalar ClampAbove(LlvmScalar x, double high) { return Select(Less(high, x), high, x); }

LlvmScalar BitsOf(LlvmScalar x) { return Made(x, x.builder().CreateBitCast(x.value(), IntegerAsWide(x))); }
LlvmScalar FloatOfBits(LlvmScalar bits) {
  return Made(bits, bits.builder().CreateBitCast(bits.value(), FloatAsWide(bits)));
}
LlvmScalar FloatOfInteger(LlvmScalar integer) {
  return Made(integer, integer.builder().CreateSIToFP(integer.value(), FloatAsWide(integer)));
}
LlvmScalar ToDouble(LlvmScalar x) { return Made(x, x.builder().CreateFPExt(x.value(), x.builder().getDoubleTy())); }
LlvmScalar ToFloat(LlvmScalar x) { return Made(x, x.builder().CreateFPTrunc(x.value(), x.builder().getFloatTy())); }

LlvmScalar Polynomial(LlvmScalar x, std::span<const double> coefficients) {
  LlvmScalar sum = x.Like(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = MulAdd(sum, x, coefficients[i]);
  return sum;
}

LlvmScalar ProductTail(LlvmScalar a, LlvmScalar b, LlvmScalar product) {
  if (a.context().has_fma) return MulAdd(a, b, -product);
  const LlvmScalar a_high = UpperHalf(a);
  const LlvmScalar b_high = UpperHalf(b);
  const LlvmScalar a_low = a - a_high;
  const LlvmScalar b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

}  // namespace hearth::fuser
