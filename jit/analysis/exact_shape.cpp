#include "jit/analysis/exact_shape.h"

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <sstream>

namespace hearth {
namespace {

bool MayHoldTensors(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::StringType:
      return false;
    default:
      return true;
  }
}

// Calls `visit` with each defined tensor, in the order of the facts, until it returns false. Whether it never did.
template <typename Visit>
bool VisitTensors(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) return !value.toTensor().defined() || visit(*value.unsafeToTensorImpl());
  const auto all = [&](const auto& elements) {
    return std::ranges::all_of(elements, [&](const c10::IValue& element) { return VisitTensors(element, visit); });
  };
  if (value.isTuple()) return all(value.toTupleRef().elements().asArrayRef());
  // Of numbers and strings there may be very many.
  if (value.isList() && MayHoldTensors(*value.toList().elementType())) return all(value.toListRef());
  if (value.isGenericDict()) {
    for (const auto& item : value.toGenericDict()) {
      if (!VisitTensors(item.value(), visit)) return false;
    }
  }
  return true;
}

template <typename Visit>
bool VisitAll(std::span<const c10::IValue> arguments, const Visit& visit) {
  return std::ranges::all_of(arguments, [&](const c10::IValue& value) { return VisitTensors(value, visit); });
}

bool HasShape(const c10::TensorImpl& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_python_dispatch() && !tensor.has_symbolic_sizes_strides() &&
         !tensor.key_set().has(c10::DispatchKey::NestedTensor);
}

class FactsFiller {
 public:
  using Sizes = std::optional<std::vector<int64_t>> TensorFacts::*;
  FactsFiller(std::span<const int64_t> numbers, Sizes sizes) : numbers_(numbers), sizes_(sizes) {}

  void Fill(ArgumentFacts& facts) {
    if (facts.kind == ArgumentKind::kTensor) {
      const auto rank = static_cast<size_t>(numbers_[0]);
      const auto sizes = numbers_.subspan(1, rank);
      (facts.tensor.*sizes_).emplace(sizes.begin(), sizes.end());
      numbers_ = numbers_.subspan(1 + 2 * rank);
    }
    for (ArgumentFacts& element : facts.elements) Fill(element);
  }

 private:
  std::span<const int64_t> numbers_;
  const Sizes sizes_;
};

}  // namespace

std::optional<ExactShape> ExactShape::Of(std::span<const c10::IValue> arguments) {
  ExactShape shape;
  auto& numbers = shape.numbers_;
  const bool all = VisitAll(arguments, [&](const c10::TensorImpl& tensor) {
    if (!HasShape(tensor)) return false;
    numbers.push_back(tensor.dim());
    numbers.append(tensor.sizes().begin(), tensor.sizes().end());
    numbers.append(tensor.strides().begin(), tensor.strides().end());
    return numbers.size() <= kMaxNumbers;
  });
  return all && !numbers.empty() ? std::optional(std::move(shape)) : std::nullopt;
}

bool ExactShape::Fits(std::span<const c10::IValue> arguments) const {
  std::span<const int64_t> rest(numbers_.data(), numbers_.size());
  const auto take = [&](c10::IntArrayRef wanted) {
    const bool same = rest.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), rest.begin());
    if (same) rest = rest.subspan(wanted.size());
    return same;
  };
  const bool all = VisitAll(arguments, [&](const c10::TensorImpl& tensor) {
    const int64_t rank = tensor.dim();
    return take(rank) && take(tensor.sizes()) && take(tensor.strides());
  });
  return all && rest.empty();
}

void ExactShape::AddTo(std::span<ArgumentFacts> facts) const {
  FactsFiller filler(std::span(numbers_.data(), numbers_.size()), &TensorFacts::sizes);
  for (ArgumentFacts& argument : facts) filler.Fill(argument);
}

void ExactShape::AddAsLikelyTo(std::span<ArgumentFacts> facts) const {
  FactsFiller filler(std::span(numbers_.data(), numbers_.size()), &TensorFacts::likely_sizes);
  for (ArgumentFacts& argument : facts) filler.Fill(argument);
}

std::string ExactShape::ToString() const {
  std::ostringstream out;
  for (size_t at = 0; at < numbers_.size();) {
    const auto rank = static_cast<size_t>(numbers_[at]);
    out << (at == 0 ? "" : ", ") << c10::IntArrayRef(numbers_.data() + at + 1, rank);
    at += 1 + 2 * rank;
  }
  return std::move(out).str();
}

}  // namespace hearth
