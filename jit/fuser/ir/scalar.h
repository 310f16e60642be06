// Values of a kernel that is being built, with the operators that arithmetic is written in: rules say
// `x * (1 / (1 + Exp(-x)))` and the builder gets the instructions. Numbers stand for constants of the other operand's
// dtype. Operands of one operation have one dtype.
#pragma once

#include <initializer_list>

#include "jit/fuser/ir/builder.h"

namespace hearth::fuser {

// Refers to the builder.
class Scalar {
 public:
  Scalar() = default;  // none
  Scalar(KernelBuilder& builder, ValueId id) : builder_(&builder), id_(id) {}

  explicit operator bool() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  Dtype dtype() const { return builder_->DtypeOf(id_); }
  Scalar To(Dtype dtype) const { return {*builder_, builder_->Cast(id_, dtype)}; }
  // A constant of the same dtype.
  Scalar Like(double value) const { return {*builder_, builder_->Constant(dtype(), value)}; }

  Scalar With(Opcode opcode) const { return {*builder_, builder_->Call(opcode, {id_})}; }
  Scalar With(Opcode opcode, Scalar other) const { return {*builder_, builder_->Call(opcode, {id_, other.id_})}; }
  Scalar With(Opcode opcode, Scalar b, Scalar c) const {
    return {*builder_, builder_->Call(opcode, {id_, b.id_, c.id_})};
  }

 private:
  KernelBuilder* builder_ = nullptr;
  ValueId id_ = kNoValue;
};

inline Scalar operator+(Scalar a, Scalar b) { return a.With(Opcode::kAdd, b); }
inline Scalar operator+(Scalar a, double b) { return a + a.Like(b); }
inline Scalar operator+(double a, Scalar b) { return b.Like(a) + b; }
inline Scalar operator-(Scalar a, Scalar b) { return a.With(Opcode::kSubtract, b); }
inline Scalar operator-(Scalar a, double b) { return a - a.Like(b); }
inline Scalar operator-(double a, Scalar b) { return b.Like(a) - b; }
inline Scalar operator-(Scalar a) { return a.With(Opcode::kNegate); }
inline Scalar operator*(Scalar a, Scalar b) { return a.With(Opcode::kMultiply, b); }
inline Scalar operator*(Scalar a, double b) { return a * a.Like(b); }
inline Scalar operator*(double a, Scalar b) { return b.Like(a) * b; }
inline Scalar operator/(Scalar a, Scalar b) { return a.With(Opcode::kDivide, b); }
inline Scalar operator/(Scalar a, double b) { return a / a.Like(b); }
inline Scalar operator/(double a, Scalar b) { return b.Like(a) / b; }

// Of b1 and integers.
inline Scalar operator&(Scalar a, Scalar b) { return a.With(Opcode::kAnd, b); }
inline Scalar operator|(Scalar a, Scalar b) { return a.With(Opcode::kOr, b); }
inline Scalar operator^(Scalar a, Scalar b) { return a.With(Opcode::kXor, b); }
inline Scalar operator~(Scalar a) { return a.With(Opcode::kNot); }

// Comparisons give a b1.
inline Scalar operator==(Scalar a, Scalar b) { return a.With(Opcode::kEqual, b); }
inline Scalar operator!=(Scalar a, Scalar b) { return a.With(Opcode::kNotEqual, b); }
inline Scalar operator<(Scalar a, Scalar b) { return a.With(Opcode::kLess, b); }
inline Scalar operator<(Scalar a, double b) { return a < a.Like(b); }
inline Scalar operator<=(Scalar a, Scalar b) { return a.With(Opcode::kLessOrEqual, b); }
inline Scalar operator<=(Scalar a, double b) { return a <= a.Like(b); }
inline Scalar operator>(Scalar a, Scalar b) { return b < a; }
inline Scalar operator>(Scalar a, double b) { return a.Like(b) < a; }
inline Scalar operator>=(Scalar a, Scalar b) { return b <= a; }
inline Scalar operator>=(Scalar a, double b) { return a.Like(b) <= a; }

inline Scalar Select(Scalar condition, Scalar a, Scalar b) { return condition.With(Opcode::kSelect, a, b); }
inline Scalar Minimum(Scalar a, Scalar b) { return a.With(Opcode::kMinimum, b); }
inline Scalar Minimum(Scalar a, double b) { return Minimum(a, a.Like(b)); }
inline Scalar Maximum(Scalar a, Scalar b) { return a.With(Opcode::kMaximum, b); }
inline Scalar Maximum(Scalar a, double b) { return Maximum(a, a.Like(b)); }
inline Scalar Absolute(Scalar a) { return a.With(Opcode::kAbsolute); }
inline Scalar Fma(Scalar a, Scalar b, Scalar c) { return a.With(Opcode::kFma, b, c); }
inline Scalar SquareRoot(Scalar a) { return a.With(Opcode::kSquareRoot); }
inline Scalar Exp(Scalar a) { return a.With(Opcode::kExp); }
inline Scalar Expm1(Scalar a) { return a.With(Opcode::kExpm1); }
inline Scalar Log1p(Scalar a) { return a.With(Opcode::kLog1p); }
inline Scalar Tanh(Scalar a) { return a.With(Opcode::kTanh); }
inline Scalar Erf(Scalar a) { return a.With(Opcode::kErf); }

}  // namespace hearth::fuser
