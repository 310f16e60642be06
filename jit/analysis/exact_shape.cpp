#include "jit/analysis/exact_shape.h"

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <limits>
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

// Whether a tensor with these facts can have these sizes and strides.
bool CanHave(const TensorFacts& facts, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t elements = 1;
  int64_t extent = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i];
    if (size < 0 || strides[i] < 0) return false;
    if (SizeClasses::Of(size, facts.dtype, sizes.size(), i) != facts.size_classes[i]) return false;
    int64_t reach = 0;
    if (__builtin_mul_overflow(elements, std::max<int64_t>(size, 1), &elements)) return false;
    if (size > 0 && __builtin_mul_overflow(size - 1, strides[i], &reach)) return false;
    if (__builtin_add_overflow(extent, reach, &extent)) return false;
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;  // bytes of an element
  return elements <= kMost && extent < kMost;
}

// Whether arguments with these facts can have the shape that the first of `numbers` are; what they are is removed.
bool TakeShape(std::span<const ArgumentFacts> arguments, std::span<const int64_t>& numbers) {
  return std::ranges::all_of(arguments, [&](const ArgumentFacts& facts) {
    if (facts.kind == ArgumentKind::kTensor) {
      const std::optional<uint8_t> rank = facts.tensor.rank;
      if (!rank || numbers.size() < 1 + 2 * size_t{*rank} || numbers[0] != *rank) return false;
      if (!CanHave(facts.tensor, numbers.subspan(1, *rank), numbers.subspan(1 + *rank, *rank))) return false;
      numbers = numbers.subspan(1 + 2 * size_t{*rank});
    }
    return TakeShape(facts.elements, numbers);
  });
}

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

std::optional<ExactShape> ExactShape::Restore(std::span<const int64_t> numbers, const ArgumentSpec& spec) {
  if (numbers.empty() || numbers.size() > kMaxNumbers) return std::nullopt;
  std::span<const int64_t> rest = numbers;
  if (!TakeShape(spec.Facts(), rest) || !rest.empty()) return std::nullopt;
  ExactShape shape;
  shape.numbers_.append(numbers.begin(), numbers.end());
  return shape;
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
