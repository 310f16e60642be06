// Expressions on LLVM values, written as arithmetic is. A LlvmScalar is a value and the place where instructions go;
// its operators append instructions there:
//
//   LlvmScalar r = MulAdd(n, -kLn2, x);      x - n ln(2), with one rounding where the processor has FMA
//   return Select(Less(x, 0.0), nan, r);
//
// Plain numbers take the dtype of the other operand. What the processor lacks is made of what it has, so that no
// instruction becomes a call of a library.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <concepts>
#include <cstdint>
#include <span>

namespace hearth::fuser {

// Where instructions go, and what the processor can do. Lives as long as the Scalars of it.
struct EmitContext {
  llvm::IRBuilder<>& builder;
  bool has_fma = false;
  bool has_rounding = false;  // SSE4.1
  bool has_f16c = false;
};

class LlvmScalar {
 public:
  LlvmScalar(EmitContext& context, llvm::Value* value) : context_(&context), value_(value) {}

  llvm::Value* value() const { return value_; }
  llvm::Type* type() const { return value_->getType(); }
  EmitContext& context() const { return *context_; }
  llvm::IRBuilder<>& builder() const { return context_->builder; }
  bool is_floating() const { return type()->isFloatingPointTy(); }
  bool is_double() const { return type()->isDoubleTy(); }
  int width() const { return static_cast<int>(type()->getScalarSizeInBits()); }

  // A number of the same type.
  LlvmScalar Like(double number) const;
  LlvmScalar LikeInteger(uint64_t number) const;

 private:
  EmitContext* context_;
  llvm::Value* value_;
};

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
LlvmScalar LikeOther(const LlvmScalar& other, T number) {
  if constexpr (std::integral<T>) {
    return other.is_floating() ? other.Like(static_cast<double>(number))
                               : other.LikeInteger(static_cast<uint64_t>(number));
  } else {
    return other.Like(number);
  }
}

// Of floating point or integers; shifts to the right keep the sign.
LlvmScalar operator+(LlvmScalar a, LlvmScalar b);
LlvmScalar operator-(LlvmScalar a, LlvmScalar b);
LlvmScalar operator*(LlvmScalar a, LlvmScalar b);
LlvmScalar operator/(LlvmScalar a, LlvmScalar b);  // floating point only
LlvmScalar operator-(LlvmScalar a);
LlvmScalar operator&(LlvmScalar a, LlvmScalar b);
LlvmScalar operator|(LlvmScalar a, LlvmScalar b);
LlvmScalar operator^(LlvmScalar a, LlvmScalar b);
LlvmScalar operator<<(LlvmScalar a, LlvmScalar b);
LlvmScalar operator>>(LlvmScalar a, LlvmScalar b);
LlvmScalar operator!(LlvmScalar condition);
LlvmScalar ShiftRightLogical(LlvmScalar a, LlvmScalar b);

// Comparisons: ordered, so false of a NaN; of integers signed. NotEqual is true of a NaN.
LlvmScalar Less(LlvmScalar a, LlvmScalar b);
LlvmScalar LessOrEqual(LlvmScalar a, LlvmScalar b);
LlvmScalar Equal(LlvmScalar a, LlvmScalar b);
LlvmScalar NotEqual(LlvmScalar a, LlvmScalar b);
LlvmScalar IsNan(LlvmScalar a);
LlvmScalar Select(LlvmScalar condition, LlvmScalar a, LlvmScalar b);

// a * b + c, rounded once or twice as the processor has it.
LlvmScalar MulAdd(LlvmScalar a, LlvmScalar b, LlvmScalar c);

#define HEARTH_SCALAR_WITH_NUMBERS(name) \
  template <Number T>                    \
  LlvmScalar name(LlvmScalar a, T b) {   \
    return name(a, LikeOther(a, b));     \
  }                                      \
  template <Number T>                    \
  LlvmScalar name(T a, LlvmScalar b) {   \
    return name(LikeOther(b, a), b);     \
  }
HEARTH_SCALAR_WITH_NUMBERS(operator+)
HEARTH_SCALAR_WITH_NUMBERS(operator-)
HEARTH_SCALAR_WITH_NUMBERS(operator*)
HEARTH_SCALAR_WITH_NUMBERS(operator/)
HEARTH_SCALAR_WITH_NUMBERS(operator&)
HEARTH_SCALAR_WITH_NUMBERS(operator|)
HEARTH_SCALAR_WITH_NUMBERS(operator^)
HEARTH_SCALAR_WITH_NUMBERS(operator<<)
HEARTH_SCALAR_WITH_NUMBERS(operator>>)
HEARTH_SCALAR_WITH_NUMBERS(ShiftRightLogical)
HEARTH_SCALAR_WITH_NUMBERS(Less)
HEARTH_SCALAR_WITH_NUMBERS(LessOrEqual)
HEARTH_SCALAR_WITH_NUMBERS(Equal)
HEARTH_SCALAR_WITH_NUMBERS(NotEqual)
#undef HEARTH_SCALAR_WITH_NUMBERS

template <Number T>
LlvmScalar MulAdd(LlvmScalar a, T b, LlvmScalar c) {
  return MulAdd(a, LikeOther(a, b), c);
}
template <Number T>
LlvmScalar MulAdd(LlvmScalar a, LlvmScalar b, T c) {
  return MulAdd(a, b, LikeOther(a, c));
}
template <Number T, Number U>
LlvmScalar MulAdd(LlvmScalar a, T b, U c) {
  return MulAdd(a, LikeOther(a, b), LikeOther(a, c));
}
template <Number T>
LlvmScalar Select(LlvmScalar condition, T a, LlvmScalar b) {
  return Select(condition, LikeOther(b, a), b);
}
template <Number T>
LlvmScalar Select(LlvmScalar condition, LlvmScalar a, T b) {
  return Select(condition, a, LikeOther(a, b));
}

LlvmScalar Absolute(LlvmScalar x);
LlvmScalar CopySign(LlvmScalar magnitude, LlvmScalar sign);
LlvmScalar SquareRoot(LlvmScalar x);
LlvmScalar Floor(LlvmScalar x);
LlvmScalar Ceil(LlvmScalar x);
LlvmScalar Truncate(LlvmScalar x);
LlvmScalar Round(LlvmScalar x);  // ties to even
// A NaN if an operand is; of two zeros either.
LlvmScalar Minimum(LlvmScalar a, LlvmScalar b);
LlvmScalar Maximum(LlvmScalar a, LlvmScalar b);
// x, or the bound where it is beyond it; a NaN stays.
LlvmScalar ClampBelow(LlvmScalar x, double low);
LlvmScalar ClampAbove(LlvmScalar x, double high);

// The bits of floating point as an integer as wide, and back.
LlvmScalar BitsOf(LlvmScalar x);
LlvmScalar FloatOfBits(LlvmScalar bits);
// A signed integer's value in floating point as wide.
LlvmScalar FloatOfInteger(LlvmScalar integer);
LlvmScalar ToDouble(LlvmScalar x);
LlvmScalar ToFloat(LlvmScalar x);

// The constant coefficient is the first.
LlvmScalar Polynomial(LlvmScalar x, std::span<const double> coefficients);
// a * b - product, exactly, where `product` is a * b rounded.
LlvmScalar ProductTail(LlvmScalar a, LlvmScalar b, LlvmScalar product);

}  // namespace hearth::fuser
