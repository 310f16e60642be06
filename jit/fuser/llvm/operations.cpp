#include "jit/fuser/llvm/operations.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <limits>
#include <string>

#include "jit/fuser/llvm/math.h"

namespace hearth::fuser {
namespace {

[[noreturn]] void ThrowUnsupported(Opcode opcode, Dtype dtype) {
  throw Unsupported("no code for " + std::string(InfoOf(opcode).name) + " of " + std::string(NameOf(dtype)));
}

LlvmScalar Intrinsic(llvm::Intrinsic::ID intrinsic, const LlvmScalar& a, const LlvmScalar& b) {
  return {a.context(), a.builder().CreateBinaryIntrinsic(intrinsic, a.value(), b.value())};
}

// ---- Integers and b1 ----

struct Division {
  LlvmScalar quotient;  // towards zero
  LlvmScalar rest;
};

// The processor's division traps where the divisor is 0, and where the least number is divided by -1.
Division Divide(LlvmScalar a, LlvmScalar b, bool is_unsigned) {
  auto& builder = a.builder();
  const LlvmScalar is_zero = Equal(b, 0);
  if (is_unsigned) {
    const LlvmScalar divisor = Select(is_zero, 1, b);
    return {Select(is_zero, 0, LlvmScalar(a.context(), builder.CreateUDiv(a.value(), divisor.value()))),
            Select(is_zero, 0, LlvmScalar(a.context(), builder.CreateURem(a.value(), divisor.value())))};
  }
  const LlvmScalar is_minus_one = Equal(b, -1);
  const LlvmScalar divisor = Select(is_zero | is_minus_one, 1, b);
  const LlvmScalar quotient(a.context(), builder.CreateSDiv(a.value(), divisor.value()));
  const LlvmScalar rest(a.context(), builder.CreateSRem(a.value(), divisor.value()));
  return {Select(is_zero, 0, Select(is_minus_one, -a, quotient)), Select(is_zero, 0, rest)};
}

LlvmScalar DivideInteger(Opcode opcode, LlvmScalar a, LlvmScalar b, bool is_unsigned) {
  const Division division = Divide(a, b, is_unsigned);
  if (opcode == Opcode::kDivide) return division.quotient;
  if (opcode == Opcode::kFmod) return division.rest;
  const LlvmScalar below = NotEqual(division.rest, 0) & Less(division.rest ^ b, 0);
  const bool is_quotient = opcode == Opcode::kFloorDivide;
  const LlvmScalar truncated = is_quotient ? division.quotient : division.rest;
  if (is_unsigned) return truncated;
  return Select(below, is_quotient ? truncated - 1 : truncated + b, truncated);
}

LlvmScalar Shift(Opcode opcode, LlvmScalar a, LlvmScalar count, bool is_unsigned) {
  const LlvmScalar in_range(a.context(), a.builder().CreateICmpULT(count.value(), a.LikeInteger(a.width()).value()));
  const LlvmScalar bounded = Select(in_range, count, 0);
  if (opcode == Opcode::kShiftLeft) return Select(in_range, a << bounded, 0);
  if (opcode == Opcode::kShiftRightLogical || is_unsigned) return Select(in_range, ShiftRightLogical(a, bounded), 0);
  return Select(in_range, a >> bounded, a >> (a.width() - 1));
}

LlvmScalar CompareUnsigned(Opcode opcode, LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  return {a.context(), opcode == Opcode::kLess ? builder.CreateICmpULT(a.value(), b.value())
                                               : builder.CreateICmpULE(a.value(), b.value())};
}

LlvmScalar ComputeInteger(Opcode opcode, Dtype dtype, std::span<const LlvmScalar> operands) {
  const bool is_unsigned = dtype == Dtype::kUint8 || dtype == Dtype::kBool;
  const LlvmScalar a = operands[0];
  const LlvmScalar b = operands.back();
  switch (opcode) {
    case Opcode::kDivide:
    case Opcode::kFloorDivide:
    case Opcode::kRemainder:
    case Opcode::kFmod:
      return DivideInteger(opcode, a, b, is_unsigned);
    case Opcode::kMinimum:
      return Intrinsic(is_unsigned ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a, b);
    case Opcode::kMaximum:
      return Intrinsic(is_unsigned ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b);
    case Opcode::kAbsolute:
      if (is_unsigned) return a;
      return Intrinsic(llvm::Intrinsic::abs, a, {a.context(), a.builder().getFalse()});
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kNot:
      return !a;
    case Opcode::kShiftLeft:
    case Opcode::kShiftRight:
    case Opcode::kShiftRightLogical:
      return Shift(opcode, a, b, is_unsigned);
    case Opcode::kWithin:
      return a;
    case Opcode::kLess:
    case Opcode::kLessOrEqual:
      if (is_unsigned) return CompareUnsigned(opcode, a, b);
      return opcode == Opcode::kLess ? Less(a, b) : LessOrEqual(a, b);
    default:
      ThrowUnsupported(opcode, dtype);
  }
}

// ---- Floating point ----

// |a| is made less than |b| by taking away the largest b 2^n that fits until none does: each difference is exact.
void EmitFmodBody(EmitContext& context, llvm::Function* function) {
  auto& builder = context.builder;
  auto* entry = llvm::BasicBlock::Create(builder.getContext(), "entry", function);
  auto* loop = llvm::BasicBlock::Create(builder.getContext(), "loop", function);
  auto* done = llvm::BasicBlock::Create(builder.getContext(), "done", function);
  builder.SetInsertPoint(entry);
  const LlvmScalar x(context, function->getArg(0));
  const LlvmScalar y(context, function->getArg(1));
  const LlvmScalar a = Absolute(x);
  const LlvmScalar b = Absolute(y);
  const double infinity = std::numeric_limits<double>::infinity();
  const LlvmScalar no_number = Equal(y, 0.0) | IsNan(y) | !Less(a, infinity);
  const LlvmScalar start = Select(no_number, std::numeric_limits<double>::quiet_NaN(), a);
  builder.CreateCondBr(LessOrEqual(b, start).value(), loop, done);

  builder.SetInsertPoint(loop);
  llvm::PHINode* phi = builder.CreatePHI(x.type(), 2);
  const LlvmScalar rest(context, phi);
  const int mantissa_bits = x.is_double() ? 52 : 23;
  // Of subnormal numbers, too.
  const auto exponent = [&](LlvmScalar v) {
    const LlvmScalar subnormal = Less(v, x.is_double() ? 0x1p-1022 : 0x1p-126);
    const LlvmScalar bits = BitsOf(Select(subnormal, v * 0x1p60, v)) >> mantissa_bits;
    return Select(subnormal, bits - 60, bits);
  };
  const LlvmScalar times = exponent(rest) - exponent(b);
  // b 2^times in four steps, of which none leaves the range.
  const LlvmScalar quarter = times >> 2;
  const LlvmScalar step = PowerOfTwo(quarter);
  const LlvmScalar multiple = b * step * step * step * PowerOfTwo(times - quarter * 3);
  const LlvmScalar fitting = Select(LessOrEqual(multiple, rest), multiple, 0.5 * multiple);
  const LlvmScalar next = rest - fitting;
  phi->addIncoming(start.value(), entry);
  phi->addIncoming(next.value(), loop);
  builder.CreateCondBr(LessOrEqual(b, next).value(), loop, done);

  builder.SetInsertPoint(done);
  llvm::PHINode* result = builder.CreatePHI(x.type(), 2);
  result->addIncoming(start.value(), entry);
  result->addIncoming(next.value(), loop);
  builder.CreateRet(CopySign(LlvmScalar(context, result), x).value());
}

// A call of a function in the same module: its loop would keep the loop around it from being vectorised in any case.
LlvmScalar Fmod(LlvmScalar a, LlvmScalar b) {
  auto& builder = a.builder();
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const char* name = a.is_double() ? "fmod_f64" : "fmod_f32";
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) {
    auto* type = llvm::FunctionType::get(a.type(), {a.type(), a.type()}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    function->addFnAttr(llvm::Attribute::NoInline);
    const llvm::IRBuilder<>::InsertPointGuard guard(builder);
    EmitFmodBody(a.context(), function);
  }
  return {a.context(), builder.CreateCall(function, {a.value(), b.value()})};
}

// c10::div_floor_floating, operation by operation.
LlvmScalar FloorDivideFloating(LlvmScalar a, LlvmScalar b) {
  const LlvmScalar rest = Fmod(a, b);
  const LlvmScalar exact = (a - rest) / b;
  const LlvmScalar other_sign = NotEqual(rest, 0.0) & (Less(b, 0.0) ^ Less(rest, 0.0));
  const LlvmScalar quotient = Select(other_sign, exact - 1.0, exact);
  const LlvmScalar down = Floor(quotient);
  const LlvmScalar rounded = Select(Less(0.5, quotient - down), down + 1.0, down);
  const LlvmScalar ratio = a / b;
  const LlvmScalar result = Select(Equal(quotient, 0.0), CopySign(a.Like(0.0), ratio), rounded);
  return Select(Equal(b, 0.0), ratio, result);
}

LlvmScalar RemainderFloating(LlvmScalar a, LlvmScalar b) {
  const LlvmScalar rest = Fmod(a, b);
  return Select(NotEqual(rest, 0.0) & (Less(b, 0.0) ^ Less(rest, 0.0)), rest + b, rest);
}

LlvmScalar ComputeFloating(Opcode opcode, Dtype dtype, std::span<const LlvmScalar> operands) {
  const LlvmScalar a = operands[0];
  const LlvmScalar b = operands.size() > 1 ? operands[1] : a;
  switch (opcode) {
    case Opcode::kDivide:
      return a / b;
    case Opcode::kFloorDivide:
      return FloorDivideFloating(a, b);
    case Opcode::kRemainder:
      return RemainderFloating(a, b);
    case Opcode::kFmod:
      return Fmod(a, b);
    case Opcode::kMinimum:
      return Minimum(a, b);
    case Opcode::kMaximum:
      return Maximum(a, b);
    case Opcode::kAbsolute:
      return Absolute(a);
    case Opcode::kFma:
      if (!a.context().has_fma) ThrowUnsupported(opcode, dtype);
      return MulAdd(a, b, operands[2]);
    case Opcode::kLess:
      return Less(a, b);
    case Opcode::kLessOrEqual:
      return LessOrEqual(a, b);
    case Opcode::kFloor:
      return Floor(a);
    case Opcode::kCeil:
      return Ceil(a);
    case Opcode::kTruncate:
      return Truncate(a);
    case Opcode::kRound:
      return Round(a);
    case Opcode::kSquareRoot:
      return SquareRoot(a);
    case Opcode::kCopySign:
      return CopySign(a, b);
    case Opcode::kExp:
      return Exp(a);
    case Opcode::kExp2:
      return Exp2(a);
    case Opcode::kExpm1:
      return Expm1(a);
    case Opcode::kLog:
      return Log(a);
    case Opcode::kLog2:
      return Log2(a);
    case Opcode::kLog10:
      return Log10(a);
    case Opcode::kLog1p:
      return Log1p(a);
    case Opcode::kSin:
      return Sin(a);
    case Opcode::kCos:
      return Cos(a);
    case Opcode::kTan:
      return Tan(a);
    case Opcode::kAsin:
      return Asin(a);
    case Opcode::kAcos:
      return Acos(a);
    case Opcode::kAtan:
      return Atan(a);
    case Opcode::kAtan2:
      return Atan2(a, b);
    case Opcode::kSinh:
      return Sinh(a);
    case Opcode::kCosh:
      return Cosh(a);
    case Opcode::kTanh:
      return Tanh(a);
    case Opcode::kAsinh:
      return Asinh(a);
    case Opcode::kAcosh:
      return Acosh(a);
    case Opcode::kAtanh:
      return Atanh(a);
    case Opcode::kErf:
      return Erf(a);
    case Opcode::kErfc:
      return Erfc(a);
    case Opcode::kPower:
      return Power(a, b);
    default:
      ThrowUnsupported(opcode, dtype);
  }
}

}  // namespace

llvm::Type* TypeOf(llvm::LLVMContext& context, Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return llvm::Type::getInt1Ty(context);
    case Dtype::kFloat32:
      return llvm::Type::getFloatTy(context);
    case Dtype::kFloat64:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(BytesOf(dtype) * 8));
  }
}

LlvmScalar ConstantOf(EmitContext& context, const Instruction& constant) {
  llvm::IRBuilder<>& builder = context.builder;
  llvm::Type* type = TypeOf(builder.getContext(), constant.dtype);
  if (!IsFloating(constant.dtype)) {
    return {context, llvm::ConstantInt::getSigned(type, constant.integer)};
  }
  if (!IsReduced(constant.dtype)) return {context, llvm::ConstantFP::get(type, constant.real)};
  const LlvmScalar value(context, llvm::ConstantFP::get(builder.getDoubleTy(), constant.real));
  return Convert(value, Dtype::kFloat64, constant.dtype);
}

LlvmScalar Compute(Opcode opcode, Dtype dtype, std::span<const LlvmScalar> operands) {
  const LlvmScalar a = operands[0];
  const LlvmScalar b = operands.back();
  switch (opcode) {
    case Opcode::kSelect:
      return Select(a, operands[1], b);
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kNegate:
      return -a;
    case Opcode::kEqual:
      return Equal(a, b);
    case Opcode::kNotEqual:
      return NotEqual(a, b);
    default:
      return IsFloating(dtype) ? ComputeFloating(opcode, dtype, operands) : ComputeInteger(opcode, dtype, operands);
  }
}

double CostOf(Opcode opcode, Dtype dtype) {
  const double width = dtype == Dtype::kFloat64 ? 2 : 1;
  switch (opcode) {
    case Opcode::kConstant:
      return 0;
    case Opcode::kDivide:
      return IsFloating(dtype) ? 4 * width : 20;
    case Opcode::kSquareRoot:
      return 4 * width;
    case Opcode::kFloorDivide:
    case Opcode::kRemainder:
    case Opcode::kFmod:
      return 40;
    case Opcode::kPower:
      return 40 * width;
    default:
      break;
  }
  if (opcode >= Opcode::kSin && opcode <= Opcode::kAtan2) return 20 * width;
  return opcode >= Opcode::kExp ? 10 * width : 1;
}

}  // namespace hearth::fuser
