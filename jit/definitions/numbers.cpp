// Numbers, strings, devices and enumerations; what is known of ints that are asked of tensors and lists.
#include <cstdint>
#include <utility>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

// Of tensors and of lists of ints.
KnownSize At(const std::optional<KnownSizes>& numbers, std::optional<int64_t> index) {
  if (!numbers || !index) return {};
  const int64_t at = *index < 0 ? *index + static_cast<int64_t>(numbers->size()) : *index;
  return at < 0 || at >= static_cast<int64_t>(numbers->size()) ? KnownSize() : (*numbers)[static_cast<size_t>(at)];
}
bool AreInts(const Call& call) {
  return call.num_inputs() == 2 && call.in(0).kind == Kind::kInt && call.in(1).kind == Kind::kInt;
}
// The one that is the other's equal or comes before it; of two, or of a list.

}  // namespace

namespace number {

void Dim(Call& call) {
  if (call.in(0).rank()) call.out().number = static_cast<int64_t>(*call.in(0).rank());
}
void Size(Call& call) {
  if (call.in(0).is_tensor() && call.num_inputs() == 2) call.out().number = At(call.in(0).sizes, call.number("dim"));
}
void Length(Call& call) {
  const ValueFacts& of = call.in(0);
  if (of.is_tensor()) {
    call.out().number = At(of.sizes, 0);
  } else if (of.kind == Kind::kList) {
    call.out().number = static_cast<int64_t>(*of.length());
  }
}
void Numel(Call& call) {
  const ValueFacts& of = call.in(0);
  if (of.sizes && of.plain) call.out().number = Product(call.sizes(), *of.sizes, 0, of.sizes->size());
}
void Element(Call& call) {
  const c10::IValue* index = call.constant(size_t{1});
  if (call.in(0).kind == Kind::kList && index != nullptr && index->isInt()) {
    call.out().number = At(call.in(0).sizes, index->toInt());
  }
}
// Of a list, whose numbers LibTorch adds up in 32 bits.
void Sum(Call& call) {
  if (call.in(0).kind != Kind::kList || !call.in(0).sizes) return;
  int64_t sum = 0;
  for (const KnownSize element : *call.in(0).sizes) {
    if (!element || !std::in_range<int32_t>(*element)) return;
    sum += *element;
    if (!std::in_range<int32_t>(sum)) return;
  }
  call.out().number = sum;
}
void Add(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Add(call.in(0).number, call.in(1).number);
}
void Subtract(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Subtract(call.in(0).number, call.in(1).number);
}
void Multiply(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Multiply(call.in(0).number, call.in(1).number);
}
void Remainder(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Remainder(call.in(0).number, call.in(1).number);
}
void Negate(Call& call) {
  if (call.in(0).kind == Kind::kInt) call.out().number = call.sizes().Multiply(call.in(0).number, -1);
}
void Convert(Call& call) {
  if (call.in(0).kind == Kind::kInt) call.out().number = call.in(0).number;
}

}  // namespace number

namespace {

void FloorDivide(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Divide(call.in(0).number, call.in(1).number);
}
void Extremum(Call& call, bool least) {
  KnownSizes among;
  if (AreInts(call)) {
    among = {call.in(0).number, call.in(1).number};
  } else if (call.num_inputs() == 1 && call.in(0).kind == Kind::kList && call.in(0).sizes) {
    among = *call.in(0).sizes;
  }
  for (const KnownSize candidate : among) {
    bool first = candidate.is_known();
    for (const KnownSize other : among) {
      first &= least ? call.sizes().IsAtLeast(other, candidate) : call.sizes().IsAtLeast(candidate, other);
    }
    if (first) call.out().number = candidate;
  }
}
void Min(Call& call) { Extremum(call, true); }
void Max(Call& call) { Extremum(call, false); }

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::format", .kind = kScalar},
    {.name = "aten::item", .kind = kScalar},
    {.name = "aten::IntImplicit", .kind = kScalar},
    {.name = "aten::floordiv",
     .kind = kScalar,
     .number = FloorDivide,
     .neutral = 1,
     .folding = Folding::kNumbers,
     .traps = true},
    {.name = "aten::Int", .kind = kScalar, .number = number::Convert, .folding = Folding::kNumbers},
    {.name = "prim::min",
     .kind = kScalar,
     .number = Min,
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kNumbers},
    {.name = "prim::max",
     .kind = kScalar,
     .number = Max,
     .raises = Raises::kNotOnNumbers,
     .folding = Folding::kNumbers},
    {.name = "aten::__not__", .kind = kScalar, .raises = Raises::kNotOnOneOperand, .folding = Folding::kScalars},
    {.name = "aten::__is__", .kind = kScalar, .raises = Raises::kNotOnNumbers, .folding = Folding::kScalars},
    {.name = "aten::__isnot__", .kind = kScalar, .raises = Raises::kNotOnNumbers, .folding = Folding::kScalars},
    {.name = "aten::str", .kind = kScalar, .raises = Raises::kNotOnOneOperand, .folding = Folding::kScalars},
    {.name = "aten::__range_length", .kind = kScalar, .raises = Raises::kNotOnNumbers, .folding = Folding::kNumbers},
    {.name = "aten::__derive_index", .kind = kScalar, .raises = Raises::kNotOnNumbers, .folding = Folding::kNumbers},
    {.name = "prim::type", .kind = kScalar, .raises = Raises::kNotOnOneOperand, .folding = Folding::kScalars},
    {.name = "aten::gcd", .kind = kScalar, .folding = Folding::kNumbers},
    {.name = "aten::Float", .kind = kScalar, .folding = Folding::kNumbers},
    {.name = "aten::Bool", .kind = kScalar, .folding = Folding::kNumbers},
    {.name = "aten::Complex", .kind = kScalar, .folding = Folding::kNumbers},
    {.name = "prim::abs", .kind = kScalar, .folding = Folding::kNumbers},
    {.name = "aten::upper", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "aten::lower", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "aten::startswith", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "aten::endswith", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "aten::device", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "prim::index", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "prim::EnumName", .kind = kScalar, .folding = Folding::kScalars},
    {.name = "prim::EnumValue", .kind = kScalar, .folding = Folding::kScalars},
};

}  // namespace

std::span<const OperatorDefinition> NumberDefinitions() { return kDefinitions; }

}  // namespace hearth
