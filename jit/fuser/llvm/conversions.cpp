// Casts between the dtypes. f16 has instructions where the target has F16C, else integer arithmetic that gives the same
// (after F. Giesen's float_to_half_fast3_rtne and half_to_float, public domain). bf16 is integer arithmetic everywhere:
// the instruction for it (AVX512-BF16) takes subnormal numbers for 0.
#include "jit/fuser/llvm/operations.h"

namespace hearth::fuser {
namespace {

LlvmScalar Cast(llvm::Instruction::CastOps operation, LlvmScalar value, llvm::Type* type) {
  return {value.context(), value.builder().CreateCast(operation, value.value(), type)};
}

LlvmScalar FloatOfHalf(LlvmScalar bits) {
  auto& builder = bits.builder();
  if (bits.context().has_f16c) {
    llvm::Value* half = builder.CreateBitCast(bits.value(), builder.getHalfTy());
    return {bits.context(), builder.CreateFPExt(half, builder.getFloatTy())};
  }
  const LlvmScalar wide = Cast(llvm::Instruction::ZExt, bits, builder.getInt32Ty());
  const LlvmScalar magnitude = (wide & 0x7fff) << 13;
  const LlvmScalar exponent = magnitude & (0x7c00 << 13);
  const LlvmScalar rebiased = magnitude + ((127 - 15) << 23);
  const LlvmScalar infinite = rebiased + ((128 - 16) << 23);
  const LlvmScalar subnormal = BitsOf(FloatOfBits(rebiased + (1 << 23)) - 0x1p-14);
  const LlvmScalar finite = Select(Equal(exponent, 0), subnormal, rebiased);
  const LlvmScalar result = Select(Equal(exponent, 0x7c00 << 13), infinite, finite);
  return FloatOfBits(result | ((wide & 0x8000) << 16));
}

LlvmScalar HalfOfFloat(LlvmScalar value) {
  auto& builder = value.builder();
  if (value.context().has_f16c) {
    llvm::Value* half = builder.CreateFPTrunc(value.value(), builder.getHalfTy());
    return {value.context(), builder.CreateBitCast(half, builder.getInt16Ty())};
  }
  const LlvmScalar bits = BitsOf(value);
  const LlvmScalar magnitude = bits & 0x7fffffff;
  const LlvmScalar not_finite = Select(Less(0x7f800000, magnitude), magnitude.LikeInteger(0x7e00), 0x7c00);
  // Adding 1/2 puts the bits of a subnormal half where they belong, and rounds.
  const LlvmScalar subnormal = BitsOf(FloatOfBits(magnitude) + 0.5) - 0x3f000000;
  const LlvmScalar odd = (magnitude >> 13) & 1;
  const LlvmScalar normal = (magnitude - ((127 - 15) << 23) + 0xfff + odd) >> 13;
  const LlvmScalar finite = Select(Less(magnitude, 113 << 23), subnormal, normal);
  const LlvmScalar result = Select(Less(magnitude, 143 << 23), finite, not_finite);
  return Cast(llvm::Instruction::Trunc, result | (ShiftRightLogical(bits, 16) & 0x8000), builder.getInt16Ty());
}

LlvmScalar FloatOfBFloat16(LlvmScalar bits) {
  return FloatOfBits(Cast(llvm::Instruction::ZExt, bits, bits.builder().getInt32Ty()) << 16);
}

LlvmScalar BFloat16OfFloat(LlvmScalar value) {
  const LlvmScalar bits = BitsOf(value);
  const LlvmScalar rounded = ShiftRightLogical(bits + 0x7fff + (ShiftRightLogical(bits, 16) & 1), 16);
  const LlvmScalar result = Select(IsNan(value), 0x7fc0, rounded);
  return Cast(llvm::Instruction::Trunc, result, value.builder().getInt16Ty());
}

LlvmScalar Widen(LlvmScalar value, Dtype from) {
  if (from == Dtype::kFloat16) return FloatOfHalf(value);
  if (from == Dtype::kBFloat16) return FloatOfBFloat16(value);
  return value;
}

// Of f32 or f64.
LlvmScalar ToFloating(LlvmScalar value, Dtype to) {
  if (to == Dtype::kFloat64) return value.is_double() ? value : ToDouble(value);
  const LlvmScalar single = value.is_double() ? ToFloat(value) : value;
  if (to == Dtype::kFloat16) return HalfOfFloat(single);
  if (to == Dtype::kBFloat16) return BFloat16OfFloat(single);
  return single;
}

// By way of i32 or i64, so that what does not fit comes out as the low bits, as ATen's does. LLVM has no value for what
// does not fit there either, and could draw conclusions; "freeze" makes it any number.
LlvmScalar ToInteger(LlvmScalar value, Dtype to) {
  auto& builder = value.builder();
  llvm::Type* type = to == Dtype::kInt64 ? builder.getInt64Ty() : builder.getInt32Ty();
  llvm::Value* wide = builder.CreateFreeze(builder.CreateFPToSI(value.value(), type));
  return {value.context(), builder.CreateTrunc(wide, TypeOf(builder.getContext(), to))};
}

LlvmScalar FloatingOfInteger(LlvmScalar value, Dtype from, Dtype to) {
  const bool is_unsigned = from == Dtype::kBool || from == Dtype::kUint8;
  auto& builder = value.builder();
  llvm::Type* type = to == Dtype::kFloat64 ? builder.getDoubleTy() : builder.getFloatTy();
  return ToFloating(Cast(is_unsigned ? llvm::Instruction::UIToFP : llvm::Instruction::SIToFP, value, type), to);
}

}  // namespace

LlvmScalar Convert(LlvmScalar value, Dtype from, Dtype to) {
  if (from == to) return value;
  auto& builder = value.builder();
  if (IsFloating(from)) {
    const LlvmScalar wide = Widen(value, from);
    if (to == Dtype::kBool) return NotEqual(wide, 0.0);
    return IsFloating(to) ? ToFloating(wide, to) : ToInteger(wide, to);
  }
  if (to == Dtype::kBool) return NotEqual(value, 0);
  if (IsFloating(to)) return FloatingOfInteger(value, from, to);
  llvm::Type* type = TypeOf(builder.getContext(), to);
  const bool is_unsigned = from == Dtype::kBool || from == Dtype::kUint8;
  return {value.context(), is_unsigned ? builder.CreateZExtOrTrunc(value.value(), type)
                                       : builder.CreateSExtOrTrunc(value.value(), type)};
}

LlvmScalar Reinterpret(LlvmScalar value, Dtype to) {
  return {value.context(), value.builder().CreateBitCast(value.value(), TypeOf(value.builder().getContext(), to))};
}

}  // namespace hearth::fuser
