#include "jit/definitions/value_facts.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

template <typename T>
void Keep(std::optional<T>* a, const std::optional<T>& b) {
  if (*a != b) a->reset();
}

void KeepSize(KnownSize* a, KnownSize b) {
  if (*a != b) *a = {};
}

std::optional<KnownSizes> JoinSizes(std::optional<KnownSizes> a, const std::optional<KnownSizes>& b) {
  if (!a || !b || a->size() != b->size()) return {};
  for (size_t i = 0; i < a->size(); ++i) KeepSize(&(*a)[i], (*b)[i]);
  return a;
}

ValueFacts FactsOfTensor(const at::Tensor& tensor) {
  ValueFacts facts;
  if (!tensor.defined()) return facts;
  facts.kind = Kind::kTensor;
  if (!IsPlain(tensor)) return facts;
  facts.plain = true;
  facts.dtype = tensor.scalar_type();
  facts.device = tensor.device();
  facts.requires_grad = tensor.requires_grad();
  facts.order = StrideOrder::Of(tensor);
  facts.suggested_format = tensor.suggest_memory_format();
  facts.sizes.emplace(tensor.sizes().begin(), tensor.sizes().end());
  return facts;
}

// The one type of all that is of this kind; null where there are several.
TypePtr TypeOfKind(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return c10::TensorType::get();
    case Kind::kNone:
      return c10::NoneType::get();
    case Kind::kInt:
      return c10::IntType::get();
    case Kind::kFloat:
      return c10::FloatType::get();
    case Kind::kBool:
      return c10::BoolType::get();
    case Kind::kString:
      return c10::StringType::get();
    default:
      return nullptr;
  }
}

}  // namespace

bool IsPlain(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_quantized() && !tensor.is_nested() && !tensor.is_conj() &&
         !tensor.is_neg() && !tensor.unsafeGetTensorImpl()->is_python_dispatch() &&
         !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

std::optional<size_t> ValueFacts::rank() const {
  if (kind != Kind::kTensor || !sizes) return {};
  return sizes->size();
}

std::optional<size_t> ValueFacts::length() const {
  if (kind != Kind::kList && kind != Kind::kTuple) return {};
  return sizes ? sizes->size() : elements.size();
}

PartOrder ValueFacts::nested() const {
  if (part_order.is_known() || !rank()) return part_order;
  std::vector<int64_t> constants;
  for (const KnownSize size : *sizes) {
    if (size) constants.push_back(*size);
  }
  return constants.size() == sizes->size() ? PartOrder::OfWhole(order, constants)
                                           : PartOrder::OfWhole(order, sizes->size());
}

size_t ValueFacts::count() const {
  size_t all = 1;
  for (const ValueFacts& element : elements) all += element.count();
  return all;
}

ValueFacts Join(const ValueFacts& a, const ValueFacts& b) {
  if (a.kind == Kind::kNever) return b;
  if (b.kind == Kind::kNever) return a;
  if (a.kind != b.kind || a.length() != b.length() || a.elements.size() != b.elements.size()) return {};
  ValueFacts both = a;
  Keep(&both.dtype, b.dtype);
  Keep(&both.device, b.device);
  Keep(&both.requires_grad, b.requires_grad);
  both.plain &= b.plain;
  both.part_order = Join(a.nested(), b.nested());
  both.order = Join(a.order, b.order);
  if (both.order.is_known() && both.order.is_exact() >= both.part_order.is_exact()) both.part_order = {};
  Keep(&both.suggested_format, b.suggested_format);
  both.sizes = JoinSizes(std::move(both.sizes), b.sizes);
  KeepSize(&both.number, b.number);
  for (size_t i = 0; i < both.elements.size(); ++i) both.elements[i] = Join(a.elements[i], b.elements[i]);
  return both;
}

TypePtr NarrowType(const TypePtr& declared, const ValueFacts& facts) {
  if (TypePtr own = TypeOfKind(facts.kind)) return own;
  const bool is_there = facts.kind == Kind::kList || facts.kind == Kind::kTuple;
  auto optional = is_there ? declared->cast<c10::OptionalType>() : nullptr;
  return optional != nullptr ? optional->getElementType() : declared;
}

bool Contradicts(const ValueFacts& facts, const c10::Type& type) {
  const TypePtr own = TypeOfKind(facts.kind);
  return own != nullptr && own->kind() != type.kind() && !own->isSubtypeOf(type);
}

namespace {

// Takes what it makes off `left`, and stops at none.
ValueFacts FactsWithin(const c10::IValue& value, size_t& left) {
  ValueFacts facts;
  if (left == 0) return facts;
  --left;
  if (value.isTensor()) return FactsOfTensor(value.toTensor());
  if (value.isNone()) {
    facts.kind = Kind::kNone;
  } else if (value.isInt()) {
    facts.kind = Kind::kInt;
    facts.number = value.toInt();
  } else if (value.isIntList()) {
    facts.kind = Kind::kList;
    facts.sizes.emplace();
    for (const int64_t element : value.toIntVector()) facts.sizes->push_back(element);
  } else if (value.isTuple() || value.isTensorList()) {
    facts.kind = value.isTuple() ? Kind::kTuple : Kind::kList;
    const auto elements =
        value.isTuple() ? c10::ArrayRef<c10::IValue>(value.toTupleRef().elements()) : value.toListRef();
    if (elements.size() > ValueFacts::kMaxElements) return {};
    for (const c10::IValue& element : elements) facts.elements.push_back(FactsWithin(element, left));
  }
  return facts;
}

}  // namespace

ValueFacts FactsOfConstant(const c10::IValue& value) {
  size_t left = ValueFacts::kMaxFacts;
  ValueFacts facts = FactsWithin(value, left);
  return left > 0 ? std::move(facts) : ValueFacts();
}

bool HoldOf(const ValueFacts& facts, const at::Tensor& tensor) {
  if (!facts.is_tensor() || !tensor.defined()) return false;
  const bool tells = facts.plain || facts.order.is_known() || facts.part_order.is_known() || facts.dtype ||
                     facts.device || facts.requires_grad || facts.sizes;
  if (!tells) return true;
  if (!IsPlain(tensor) || (facts.order.is_known() && !facts.order.HoldsOf(tensor)) ||
      (facts.part_order.is_known() && !facts.part_order.HoldsOf(tensor)) ||
      (facts.suggested_format && *facts.suggested_format != tensor.suggest_memory_format()) ||
      (facts.dtype && *facts.dtype != tensor.scalar_type()) || (facts.device && *facts.device != tensor.device()) ||
      (facts.requires_grad && *facts.requires_grad != tensor.requires_grad())) {
    return false;
  }
  if (!facts.sizes) return true;
  return std::ranges::equal(*facts.sizes, tensor.sizes(),
                            [](const KnownSize& known, int64_t size) { return !known || *known == size; });
}

}  // namespace hearth
