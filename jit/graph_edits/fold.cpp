#include "jit/graph_edits/fold.h"

#include <exception>
#include <limits>
#include <unordered_map>

namespace hearth {
namespace {

enum class Domain {
  kNumbers,  // numbers and None only: could make a long string or list out of others
  kScalars,  // any value without memory; strings up to a length
};

constexpr size_t kMaxStringBytes = 4096;
constexpr size_t kMaxInputs = 8;

const std::unordered_map<c10::Symbol, Domain>& Foldable() {
  static const std::unordered_map<c10::Symbol, Domain> kFoldable = [] {
    std::unordered_map<c10::Symbol, Domain> foldable;
    const auto add = [&](Domain domain, std::initializer_list<const char*> names) {
      for (const char* name : names) foldable.emplace(c10::Symbol::fromQualString(name), domain);
    };
    add(Domain::kNumbers, {"aten::sub",
                           "aten::mul",
                           "aten::div",
                           "aten::floordiv",
                           "aten::remainder",
                           "aten::fmod",
                           "aten::pow",
                           "aten::neg",
                           "aten::abs",
                           "aten::floor",
                           "aten::ceil",
                           "aten::round",
                           "aten::sqrt",
                           "aten::exp",
                           "aten::log",
                           "aten::log2",
                           "aten::log10",
                           "aten::log1p",
                           "aten::sin",
                           "aten::cos",
                           "aten::tan",
                           "aten::tanh",
                           "aten::atan",
                           "aten::atan2",
                           "aten::isnan",
                           "aten::isinf",
                           "aten::isfinite",
                           "aten::gcd",
                           "aten::__and__",
                           "aten::__or__",
                           "aten::__xor__",
                           "aten::__lshift__",
                           "aten::__rshift__",
                           "aten::bitwise_not",
                           "aten::Float",
                           "aten::Bool",
                           "aten::Complex",
                           "aten::Int",
                           "aten::__range_length",
                           "aten::__derive_index",
                           "prim::min",
                           "prim::max",
                           "prim::abs",
                           "aten::truediv",
                           "aten::copysign"});
    add(Domain::kScalars, {"aten::add",
                           "aten::eq",
                           "aten::ne",
                           "aten::lt",
                           "aten::le",
                           "aten::gt",
                           "aten::ge",
                           "aten::__not__",
                           "aten::__is__",
                           "aten::__isnot__",
                           "aten::len",
                           "aten::str",
                           "aten::upper",
                           "aten::lower",
                           "aten::startswith",
                           "aten::endswith",
                           "aten::device",
                           "prim::type",
                           "prim::index",
                           "prim::EnumName",
                           "prim::EnumValue",
                           "prim::unchecked_unwrap_optional",
                           "aten::_unwrap_optional",
                           "aten::__contains__"});
    return foldable;
  }();
  return kFoldable;
}

bool IsNumber(const c10::IValue& value) { return value.isScalar() || value.isNone(); }

bool IsScalar(const c10::IValue& value) {
  if (value.isString()) return value.toStringRef().size() <= kMaxStringBytes;
  return IsNumber(value) || value.isDevice() || value.isEnum();
}

bool InDomain(Domain domain, const c10::IValue& value) {
  switch (domain) {
    case Domain::kNumbers:
      return IsNumber(value);
    case Domain::kScalars:
      return IsScalar(value);
  }
  return false;
}

// What the processor traps on.
bool Traps(const Operator& op, std::span<const c10::IValue* const> inputs) {
  static const auto kRemainder = c10::Symbol::fromQualString("aten::remainder");
  static const auto kFloorDiv = c10::Symbol::fromQualString("aten::floordiv");
  static const auto kFmod = c10::Symbol::fromQualString("aten::fmod");
  if (op.symbol() != kRemainder && op.symbol() != kFloorDiv && op.symbol() != kFmod) return false;
  if (inputs.size() != 2 || !inputs[0]->isInt() || !inputs[1]->isInt()) return false;
  const int64_t divisor = inputs[1]->toInt();
  return divisor == 0 || (divisor == -1 && inputs[0]->toInt() == std::numeric_limits<int64_t>::min());
}

}  // namespace

std::optional<c10::IValue> FoldOperator(const Operator& op, std::span<const c10::IValue* const> inputs) {
  if (inputs.empty() || inputs.size() > kMaxInputs || op.is_vararg() || op.schema().returns().size() != 1) return {};
  auto found = Foldable().find(op.symbol());
  if (found == Foldable().end() || !op.is_pure()) return {};
  for (const c10::IValue* input : inputs) {
    if (!InDomain(found->second, *input)) return {};
  }
  if (Traps(op, inputs)) return {};

  try {
    if (NativeFunction native = op.native()) {
      c10::IValue result;
      native({inputs.data(), inputs.size()}, &result);
      return result;
    }
    if (!op.has_boxed()) return {};
    torch::jit::Stack stack;
    for (const c10::IValue* input : inputs) stack.push_back(*input);
    op.Run(stack);
    if (stack.size() != 1) return {};
    return std::move(stack.front());
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace hearth
