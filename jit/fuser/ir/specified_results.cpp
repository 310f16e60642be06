#include "jit/fuser/ir/specified_results.h"

namespace hearth::fuser {

ValueId WithoutNan(KernelBuilder& k, ValueId value) {
  const ValueId ordered = k.Call(Opcode::kEqual, {value, value});
  return k.Call(Opcode::kSelect, {ordered, value, k.Constant(k.DtypeOf(value), 1.5)});
}

ValueId WithPlainZero(KernelBuilder& k, ValueId value) {
  const Dtype dtype = k.DtypeOf(value);
  if (!IsFloating(dtype)) return value;
  return k.Call(Opcode::kAdd, {value, k.Constant(dtype, 0)});
}

ValueId Clamped(KernelBuilder& k, ValueId value, double least, double largest) {
  const Dtype dtype = k.DtypeOf(value);
  const ValueId above = k.Call(Opcode::kMaximum, {value, k.Constant(dtype, least)});
  return WithPlainZero(k, k.Call(Opcode::kMinimum, {above, k.Constant(dtype, largest)}));
}

ValueId ExactElement(KernelBuilder& k, Reduction reduction, ValueId element) {
  const Dtype dtype = k.DtypeOf(element);
  if (!IsFloating(dtype)) return element;
  if (reduction == Reduction::kSum) return k.Call(Opcode::kRound, {Clamped(k, element, -8, 8)});
  if (reduction != Reduction::kProduct) return element;
  const ValueId sign = k.Call(Opcode::kLess, {element, k.Constant(dtype, 0)});
  const ValueId large = k.Call(Opcode::kLess, {k.Constant(dtype, 1), element});
  const ValueId size = k.Call(Opcode::kSelect, {large, k.Constant(dtype, 2), k.Constant(dtype, 0.5)});
  return k.Call(Opcode::kSelect, {sign, k.Constant(dtype, -1), size});
}

ValueId SpecifiedCast(KernelBuilder& k, Dtype dtype, ValueId value) {
  const Dtype from = k.DtypeOf(value);
  if (!IsFloating(from) || !IsInteger(dtype)) return k.Cast(value, dtype);
  const ValueId wide = WithoutNan(k, IsReduced(from) ? k.Cast(value, Dtype::kFloat32) : value);
  const double largest = dtype == Dtype::kUint8 || dtype == Dtype::kInt8 ? 120 : 30000;
  return k.Cast(Clamped(k, wide, dtype == Dtype::kUint8 ? 0 : -largest, largest), dtype);
}

}  // namespace hearth::fuser
