#include "jit/fuser/ir/operation.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace hearth::fuser {
namespace {

using enum OperandKind;

// In the order of Opcode.
constexpr std::array<OperationInfo, kNumOpcodes> kOperations = {{
    {"constant", 0, kAny},
    {"load", 0, kAny},
    {"load_if", 1, kAny},
    {"store", 1, kAny},
    {"cast", 1, kAny},
    {"bitcast", 1, kAny},
    {"add", 2, kComputed},
    {"subtract", 2, kComputed},
    {"multiply", 2, kComputed},
    {"divide", 2, kComputed},
    {"floor_divide", 2, kComputed},
    {"remainder", 2, kComputed},
    {"fmod", 2, kComputed},
    {"minimum", 2, kComputedOrBool},
    {"maximum", 2, kComputedOrBool},
    {"negate", 1, kComputed},
    {"absolute", 1, kComputed},
    {"fma", 3, kFloating},
    {"and", 2, kIntegerOrBool},
    {"or", 2, kIntegerOrBool},
    {"xor", 2, kIntegerOrBool},
    {"not", 1, kIntegerOrBool},
    {"shift_left", 2, kInteger},
    {"shift_right", 2, kInteger},
    {"shift_right_logical", 2, kInteger},
    {"within", 2, kIndex},
    {"equal", 2, kComputedOrBool},
    {"not_equal", 2, kComputedOrBool},
    {"less", 2, kComputedOrBool},
    {"less_or_equal", 2, kComputedOrBool},
    {"select", 3, kAny},
    {"floor", 1, kFloating},
    {"ceil", 1, kFloating},
    {"truncate", 1, kFloating},
    {"round", 1, kFloating},
    {"square_root", 1, kFloating},
    {"copy_sign", 2, kFloating},
    {"exp", 1, kFloating},
    {"exp2", 1, kFloating},
    {"expm1", 1, kFloating},
    {"log", 1, kFloating},
    {"log2", 1, kFloating},
    {"log10", 1, kFloating},
    {"log1p", 1, kFloating},
    {"sin", 1, kFloating},
    {"cos", 1, kFloating},
    {"tan", 1, kFloating},
    {"asin", 1, kFloating},
    {"acos", 1, kFloating},
    {"atan", 1, kFloating},
    {"atan2", 2, kFloating},
    {"sinh", 1, kFloating},
    {"cosh", 1, kFloating},
    {"tanh", 1, kFloating},
    {"asinh", 1, kFloating},
    {"acosh", 1, kFloating},
    {"atanh", 1, kFloating},
    {"erf", 1, kFloating},
    {"erfc", 1, kFloating},
    {"power", 2, kFloating},
}};

constexpr std::array<std::string_view, kNumReductions> kReductionNames = {
    "sum", "product", "minimum", "maximum", "arg_minimum", "arg_maximum",
};

}  // namespace

const OperationInfo& InfoOf(Opcode opcode) { return kOperations[static_cast<size_t>(opcode)]; }

std::optional<Opcode> OpcodeOfName(std::string_view name) {
  static const auto* const opcodes = [] {
    auto* map = new std::unordered_map<std::string_view, Opcode>;
    for (size_t i = 0; i < kNumOpcodes; ++i) map->emplace(kOperations[i].name, static_cast<Opcode>(i));
    return map;
  }();
  const auto found = opcodes->find(name);
  if (found == opcodes->end()) return std::nullopt;
  return found->second;
}

bool Takes(OperandKind kind, Dtype dtype) {
  const bool computed = IsInteger(dtype) || (IsFloating(dtype) && !IsReduced(dtype));
  switch (kind) {
    case kAny:
      return true;
    case kComputed:
      return computed;
    case kComputedOrBool:
      return computed || dtype == Dtype::kBool;
    case kIntegerOrBool:
      return IsInteger(dtype) || dtype == Dtype::kBool;
    case kInteger:
      return IsInteger(dtype);
    case kIndex:
      return dtype == Dtype::kInt64;
    case kFloating:
      return IsFloating(dtype) && !IsReduced(dtype);
  }
  return false;
}

std::string_view NameOf(Reduction reduction) { return kReductionNames[static_cast<size_t>(reduction)]; }

std::optional<Reduction> ReductionOfName(std::string_view name) {
  const auto* const found = std::find(kReductionNames.begin(), kReductionNames.end(), name);
  if (found == kReductionNames.end()) return std::nullopt;
  return static_cast<Reduction>(found - kReductionNames.begin());
}

}  // namespace hearth::fuser
