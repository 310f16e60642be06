// Expressions on LLVM values, written as arithmetic is. A Scalar is a value and the place where instructions go; its
// operators append instructions there:
//
//   Scalar r = MulAdd(n, -kLn2, x);      x - n ln(2), with one rounding where the processor has FMA
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

class Scalar {
 public:
  Scalar(EmitContext& context, llvm::Value* value) : context_(&context), value_(value) {}

  llvm::Value* value() const { return value_; }
  llvm::Type* type() const { return value_->getType(); }
  EmitContext& context() const { return *context_; }
  llvm::IRBuilder<>& builder() const { return context_->builder; }
  bool is_floating() const { return type()->isFloatingPointTy(); }
  bool is_double() const { return type()->isDoubleTy(); }
  int width() const { return static_cast<int>(type()->getScalarSizeInBits()); }

  // A number of the same type.
  Scalar Like(double number) const;
  Scalar LikeInteger(uint64_t number) const;

 private:
  EmitContext* context_;
  llvm::Value* value_;
};

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
Scalar LikeOther(const Scalar& other, T number) {
  if constexpr (std::integral<T>) {
    return other.is_floating() ? other.Like(static_cast<double>(number))
                               : other.LikeInteger(static_cast<uint64_t>(number));
  } else {
    return other.Like(number);
  }
}

// Of floating point or integers; shifts to the right keep the sign.
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);  // floating point only
Scalar operator-(Scalar a);
Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar operator^(Scalar a, Scalar b);
Scalar operator<<(Scalar a, Scalar b);
Scalar operator>>(Scalar a, Scalar b);
Scalar operator!(Scalar condition);
Scalar ShiftRightLogical(Scalar a, Scalar b);

// Comparisons: ordered, so false of a NaN; of integers signed. NotEqual is true of a NaN.
Scalar Less(Scalar a, Scalar b);
Scalar LessOrEqual(Scalar a, Scalar b);
Scalar Equal(Scalar a, Scalar b);
Scalar NotEqual(Scalar a, Scalar b);
Scalar IsNan(Scalar a);
Scalar Select(Scalar condition, Scalar a, Scalar b);

// a * b + c, rounded once or twice as the processor has it.
Scalar MulAdd(Scalar a, Scalar b, Scalar c);

#define HEARTH_SCALAR_WITH_NUMBERS(name) \
  template <Number T>                    \
  Scalar name(Scalar a, T b) {           \
    return name(a, LikeOther(a, b));     \
  }                                      \
  template <Number T>                    \
  Scalar name(T a, Scalar b) {           \
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
Scalar MulAdd(Scalar a, T b, Scalar c) {
  return MulAdd(a, LikeOther(a, b), c);
}
template <Number T>
Scalar MulAdd(Scalar a, Scalar b, T c) {
  return MulAdd(a, b, LikeOther(a, c));
}
template <Number T, Number U>
Scalar MulAdd(Scalar a, T b, U c) {
  return MulAdd(a, LikeOther(a, b), LikeOther(a, c));
}
template <Number T>
Scalar Select(Scalar condition, T a, Scalar b) {
  return Select(condition, LikeOther(b, a), b);
}
template <Number T>
Scalar Select(Scalar condition, Scalar a, T b) {
  return Select(condition, a, LikeOther(a, b));
}

Scalar Absolute(Scalar x);
Scalar CopySign(Scalar magnitude, Scalar sign);
Scalar SquareRoot(Scalar x);
Scalar Floor(Scalar x);
Scalar Ceil(Scalar x);
Scalar Truncate(Scalar x);
Scalar Round(Scalar x);  // ties to even
// A NaN if an operand is; of two zeros either.
Scalar Minimum(Scalar a, Scalar b);
Scalar Maximum(Scalar a, Scalar b);
// x, or the bound where it is beyond it; a NaN stays.
Scalar ClampBelow(Scalar x, double low);
Scalar ClampAbove(Scalar x, double high);

// The bits of floating point as an integer as wide, and back.
Scalar BitsOf(Scalar x);
Scalar FloatOfBits(Scalar bits);
// A signed integer's value in floating point as wide.
Scalar FloatOfInteger(Scalar integer);
Scalar ToDouble(Scalar x);
Scalar ToFloat(Scalar x);

// The constant coefficient is the first.
Scalar Polynomial(Scalar x, std::span<const double> coefficients);
// a * b - product, exactly, where `product` is a * b rounded.
Scalar ProductTail(Scalar a, Scalar b, Scalar product);

}  // namespace hearth::fuser
