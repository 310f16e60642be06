#include "jit/definitions/fact_rules.h"

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

void Dim(Call& call) {
  if (call.in(0).rank()) call.out().number = static_cast<int64_t>(*call.in(0).rank());
}
// Of tensors and of lists of ints.
KnownSize At(const std::optional<KnownSizes>& numbers, std::optional<int64_t> index) {
  if (!numbers || !index) return {};
  const int64_t at = *index < 0 ? *index + static_cast<int64_t>(numbers->size()) : *index;
  return at < 0 || at >= static_cast<int64_t>(numbers->size()) ? KnownSize() : (*numbers)[static_cast<size_t>(at)];
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
bool AreInts(const Call& call) {
  return call.num_inputs() == 2 && call.in(0).kind == Kind::kInt && call.in(1).kind == Kind::kInt;
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
void FloorDivide(Call& call) {
  if (AreInts(call)) call.out().number = call.sizes().Divide(call.in(0).number, call.in(1).number);
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

// The one that is the other's equal or comes before it; of two, or of a list.
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

}  // namespace

void AddNumberRules(FactRules& rules) {
  rules.Add(Dim, "dim");
  rules.Add(Size, "size");
  rules.Add(Length, "len");
  rules.Add(Numel, "numel");
  rules.Add(Element, "__getitem__");
  rules.Add(Add, "add");
  rules.Add(Subtract, "sub");
  rules.Add(Multiply, "mul");
  rules.Add(FloorDivide, "floordiv");
  rules.Add(Remainder, "remainder");
  rules.Add(Negate, "neg");
  rules.Add(Convert, "Int prim::unchecked_unwrap_optional _unwrap_optional");
  rules.Add(Min, "prim::min");
  rules.Add(Max, "prim::max");
}

}  // namespace hearth
