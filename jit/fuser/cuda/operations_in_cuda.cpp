#include "jit/fuser/cuda/operations_in_cuda.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

std::string Call(std::string_view function, std::span<const std::string> arguments) {
  std::string call(function);
  std::string_view separator = "(";
  for (const std::string& argument : arguments) {
    call += separator;
    call += argument;
    separator = ", ";
  }
  return call + ')';
}

// Of the language's own functions on f32 and f64.
std::string_view MathFunctionOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kFmod:
      return "fmod";
    case Opcode::kAbsolute:
      return "fabs";
    case Opcode::kFma:
      return "fma";
    case Opcode::kFloor:
      return "floor";
    case Opcode::kCeil:
      return "ceil";
    case Opcode::kTruncate:
      return "trunc";
    case Opcode::kRound:
      return "rint";
    case Opcode::kSquareRoot:
      return "sqrt";
    case Opcode::kCopySign:
      return "copysign";
    case Opcode::kPower:
      return "pow";
    default:
      // exp, expm1, erf, ...: the IR's names are the language's.
      return opcode >= Opcode::kExp ? InfoOf(opcode).name : std::string_view();
  }
}

std::string FloatingExpression(Opcode opcode, Dtype dtype, std::span<const std::string> operands,
                               CudaFunctions* functions) {
  const bool is_double = dtype == Dtype::kFloat64;
  if (opcode == Opcode::kDivide) return operands[0] + " / " + operands[1];
  if (opcode == Opcode::kNegate) return "-" + operands[0];
  if (opcode == Opcode::kFloorDivide) {
    return Call(functions->Use(is_double ? "FloorDivideDouble" : "FloorDivideFloat"), operands);
  }
  if (opcode == Opcode::kRemainder) {
    return Call(functions->Use(is_double ? "RemainderDouble" : "RemainderFloat"), operands);
  }
  if (opcode == Opcode::kAbsolute && !is_double) return Call(functions->Use("AbsoluteFloat"), operands);
  if (opcode == Opcode::kCopySign && !is_double) return Call(functions->Use("CopySignFloat"), operands);
  const std::string_view function = MathFunctionOf(opcode);
  if (function.empty()) {
    throw Unsupported("no CUDA code for " + std::string(InfoOf(opcode).name) + " of " + std::string(NameOf(dtype)));
  }
  return Call(std::string(function) + (is_double ? "" : "f"), operands);
}

// Integers wrap around: computed without sign, which is what the language lets overflow.
std::string Wrapping(Dtype dtype, const std::string& a, std::string_view operation, const std::string& b) {
  const std::string wide = dtype == Dtype::kInt64 ? "(unsigned long long)" : "(unsigned)";
  return "(" + std::string(CTypeOf(dtype)) + ")(" + wide + a + std::string(operation) + wide + b + ")";
}

std::string IntegerExpression(Opcode opcode, Dtype dtype, std::span<const std::string> operands,
                              CudaFunctions* functions) {
  const std::string type(CTypeOf(dtype));
  const bool is_bool = dtype == Dtype::kBool;
  const std::string& a = operands[0];
  const std::string& b = operands.back();
  const auto call = [&](std::string_view name) {
    return Call(std::string(functions->Use(name)) + "<" + type + ">", operands);
  };
  const auto logical = [&](std::string_view operation) {
    return "(" + type + ")(" + a + std::string(operation) + b + ")";
  };
  switch (opcode) {
    case Opcode::kAdd:
      return Wrapping(dtype, a, " + ", b);
    case Opcode::kSubtract:
      return Wrapping(dtype, a, " - ", b);
    case Opcode::kMultiply:
      return Wrapping(dtype, a, " * ", b);
    case Opcode::kNegate:
      return Wrapping(dtype, "0", " - ", a);
    case Opcode::kAbsolute:
      return dtype == Dtype::kUint8 ? a : a + " < 0 ? " + Wrapping(dtype, "0", " - ", a) + " : " + a;
    case Opcode::kDivide:
      return call("Divide");
    case Opcode::kFloorDivide:
      return call("FloorDivide");
    case Opcode::kRemainder:
      return call("Remainder");
    case Opcode::kFmod:
      return call("Rest");
    case Opcode::kShiftLeft:
      return call("ShiftLeft");
    case Opcode::kShiftRight:
      return call("ShiftRight");
    case Opcode::kShiftRightLogical:
      return call("ShiftRightLogical");
    case Opcode::kWithin:
      return Call(functions->Use("Within"), operands);
    case Opcode::kAnd:
      return logical(" & ");
    case Opcode::kOr:
      return logical(" | ");
    case Opcode::kXor:
      return logical(" ^ ");
    case Opcode::kNot:
      return is_bool ? "!" + a : "(" + type + ")~" + a;
    default:
      throw Unsupported("no CUDA code for " + std::string(InfoOf(opcode).name) + " of " + std::string(NameOf(dtype)));
  }
}

std::string HexOf(uint64_t bits) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, bits, 16);
  return "0x" + std::string(digits, end.ptr);
}

std::string FloatingLiteral(double value, Dtype dtype) {
  const bool is_double = dtype == Dtype::kFloat64;
  if (!std::isfinite(value)) {
    const std::string bits = HexOf(BitsOf(value, dtype));
    return is_double ? "__longlong_as_double(" + bits + "LL)" : "__int_as_float(" + bits + ")";
  }
  char digits[64];
  const auto end = is_double ? std::to_chars(digits, digits + sizeof digits, value)
                             : std::to_chars(digits, digits + sizeof digits, static_cast<float>(value));
  std::string text(digits, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!is_double) text += 'f';
  return text[0] == '-' ? "(" + text + ")" : text;
}

}  // namespace

std::string_view CTypeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return "bool";
    case Dtype::kUint8:
      return "unsigned char";
    case Dtype::kInt8:
      return "signed char";
    case Dtype::kInt16:
      return "short";
    case Dtype::kInt32:
      return "int";
    case Dtype::kInt64:
      return "long long";
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
      return "unsigned short";
    case Dtype::kFloat32:
      return "float";
    case Dtype::kFloat64:
      return "double";
  }
  return "";
}

std::string_view MemoryCTypeOf(Dtype dtype) { return dtype == Dtype::kBool ? "unsigned char" : CTypeOf(dtype); }

std::string IntegerLiteral(int64_t value, Dtype dtype) {
  if (dtype == Dtype::kBool) return value != 0 ? "true" : "false";
  if (dtype == Dtype::kInt64) {
    if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807LL - 1)";
    return value < 0 ? "(" + std::to_string(value) + "LL)" : std::to_string(value) + "LL";
  }
  if (dtype == Dtype::kInt32) {
    if (value == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
    return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
  }
  return "(" + std::string(CTypeOf(dtype)) + ")" +
         (value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value));
}

std::string LiteralOf(const Instruction& constant) {
  if (!IsFloating(constant.dtype)) return IntegerLiteral(constant.integer, constant.dtype);
  if (IsReduced(constant.dtype)) return "(unsigned short)" + HexOf(BitsOf(constant.real, constant.dtype));
  return FloatingLiteral(constant.real, constant.dtype);
}

std::string ConversionOf(const std::string& value, Dtype from, Dtype to, CudaFunctions* functions) {
  if (from == to) return value;
  const auto call = [](std::string_view name, const std::string& argument) {
    return std::string(name) + "(" + argument + ")";
  };
  if (IsReduced(from)) {
    const std::string wide = call(functions->Use(from == Dtype::kFloat16 ? "FloatOfHalf" : "FloatOfBFloat16"), value);
    return ConversionOf(wide, Dtype::kFloat32, to, functions);
  }
  if (IsReduced(to)) {
    const std::string single = ConversionOf(value, from, Dtype::kFloat32, functions);
    return call(functions->Use(to == Dtype::kFloat16 ? "HalfOfFloat" : "BFloat16OfFloat"), single);
  }
  if (to == Dtype::kBool) return value + " != 0";
  if (IsFloating(from) && IsInteger(to)) {
    // By way of i32 or i64, so that what does not fit comes out as the low bits, as ATen's does.
    const bool is_double = from == Dtype::kFloat64;
    if (to == Dtype::kInt64) return call(is_double ? "__double2ll_rz" : "__float2ll_rz", value);
    const std::string wide = call(is_double ? "__double2int_rz" : "__float2int_rz", value);
    return to == Dtype::kInt32 ? wide : "(" + std::string(CTypeOf(to)) + ")" + wide;
  }
  return "(" + std::string(CTypeOf(to)) + ")" + value;
}

std::string BitsAs(const std::string& value, Dtype from, Dtype to) {
  if (IsFloating(from) != IsFloating(to)) {
    if (from == Dtype::kFloat32) return "__float_as_int(" + value + ")";
    if (from == Dtype::kFloat64) return "__double_as_longlong(" + value + ")";
    if (to == Dtype::kFloat32) return "__int_as_float(" + value + ")";
    if (to == Dtype::kFloat64) return "__longlong_as_double(" + value + ")";
  }
  return "(" + std::string(CTypeOf(to)) + ")" + value;
}

std::string ExpressionOf(Opcode opcode, Dtype dtype, std::span<const std::string> operands, CudaFunctions* functions) {
  const std::string& a = operands[0];
  const std::string& b = operands.back();
  switch (opcode) {
    case Opcode::kSelect:
      return a + " ? " + operands[1] + " : " + b;
    case Opcode::kEqual:
      return a + " == " + b;
    case Opcode::kNotEqual:
      return a + " != " + b;
    case Opcode::kLess:
      return a + " < " + b;
    case Opcode::kLessOrEqual:
      return a + " <= " + b;
    case Opcode::kMinimum:
    case Opcode::kMaximum:
      return Call(std::string(functions->Use(opcode == Opcode::kMinimum ? "Minimum" : "Maximum")) + "<" +
                      std::string(CTypeOf(dtype)) + ">",
                  operands);
    default:
      break;
  }
  if (!IsFloating(dtype)) return IntegerExpression(opcode, dtype, operands, functions);
  switch (opcode) {
    case Opcode::kAdd:
      return a + " + " + b;
    case Opcode::kSubtract:
      return a + " - " + b;
    case Opcode::kMultiply:
      return a + " * " + b;
    default:
      return FloatingExpression(opcode, dtype, operands, functions);
  }
}

std::string IdentityInCuda(Reduction reduction, Dtype element) {
  if (IsArgReduction(reduction)) return LiteralOf({.opcode = Opcode::kConstant, .dtype = element});
  const Bits bits = IdentityOf(reduction, element);
  if (!IsFloating(element)) return IntegerLiteral(static_cast<int64_t>(bits), element);
  return FloatingLiteral(DoubleOf(bits, element), element);
}

}  // namespace hearth::fuser
