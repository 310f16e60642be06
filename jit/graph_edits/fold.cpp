#include "jit/graph_edits/fold.h"

#include <exception>
#include <limits>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"

namespace hearth {
namespace {

constexpr size_t kMaxStringBytes = 4096;
constexpr size_t kMaxInputs = 8;

bool IsNumber(const c10::IValue& value) { return value.isScalar() || value.isNone(); }

bool IsScalar(const c10::IValue& value) {
  if (value.isString()) return value.toStringRef().size() <= kMaxStringBytes;
  return IsNumber(value) || value.isDevice() || value.isEnum();
}

bool InDomain(Folding domain, const c10::IValue& value) {
  switch (domain) {
    case Folding::kNumbers:
      return IsNumber(value);
    case Folding::kScalars:
      return IsScalar(value);
    case Folding::kNone:
      break;
  }
  return false;
}

// What the processor traps on.
bool Traps(const Operator& op, std::span<const c10::IValue* const> inputs) {
  if (!DefinitionOf(op.symbol()).traps) return false;
  if (inputs.size() != 2 || !inputs[0]->isInt() || !inputs[1]->isInt()) return false;
  const int64_t divisor = inputs[1]->toInt();
  return divisor == 0 || (divisor == -1 && inputs[0]->toInt() == std::numeric_limits<int64_t>::min());
}

std::optional<c10::IValue> Run(const Operator& op, std::span<const c10::IValue* const> inputs) {
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

}  // namespace

std::optional<c10::IValue> FoldOperator(const Operator& op, std::span<const c10::IValue* const> inputs) {
  if (inputs.empty() || inputs.size() > kMaxInputs || op.is_vararg() || op.schema().returns().size() != 1) return {};
  const Folding folding = DefinitionOf(op.symbol()).folding;
  if (folding == Folding::kNone || !IsPure(op)) return {};
  for (const c10::IValue* input : inputs) {
    if (!InDomain(folding, *input)) return {};
  }
  if (Traps(op, inputs)) return {};
  return Run(op, inputs);
}

bool IsQuestion(c10::Symbol op) {
  return op == c10::aten::__contains__ || op == c10::aten::__getitem__ || op == c10::aten::len;
}

std::optional<c10::IValue> FoldQuestion(const Operator& op, std::span<const c10::IValue* const> inputs) {
  if (inputs.empty() || !IsQuestion(op.symbol()) || !(inputs[0]->isList() || inputs[0]->isGenericDict())) return {};
  for (const c10::IValue* input : inputs.subspan(1)) {
    if (!IsScalar(*input)) return {};
  }
  std::optional<c10::IValue> answer = Run(op, inputs);
  return answer && IsScalar(*answer) ? std::move(answer) : std::nullopt;
}

}  // namespace hearth
