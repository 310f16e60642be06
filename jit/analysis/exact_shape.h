// The sizes and strides of all tensors among a call's arguments: what tells calls of one ArgumentSpec apart that differ
// in shape.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"

namespace hearth {

// A value.
class ExactShape {
 public:
  static constexpr size_t kMaxNumbers = 512;

  // Null where a tensor's sizes and strides are its own matter, or there are too many.
  static std::optional<ExactShape> Of(std::span<const c10::IValue> arguments);
  // Of the numbers of another one, as they were read from somewhere, for arguments of a spec. Null if no arguments of
  // that spec can have them.
  static std::optional<ExactShape> Restore(std::span<const int64_t> numbers, const ArgumentSpec& spec);

  // Whether arguments have this shape; they are of the same spec as those that it was made of.
  bool Fits(std::span<const c10::IValue> arguments) const;
  // Puts the sizes into the facts of that spec: as what they are, or as what they may well be.
  void AddTo(std::span<ArgumentFacts> facts) const;
  void AddAsLikelyTo(std::span<ArgumentFacts> facts) const;
  // "[2, 3], [1]": the tensors' sizes, in order.
  std::string ToString() const;
  // Of each tensor the rank, the sizes and the strides.
  std::span<const int64_t> numbers() const { return {numbers_.data(), numbers_.size()}; }
  size_t bytes() const { return sizeof(*this) + (numbers_.size() > kInline ? numbers_.size() * sizeof(int64_t) : 0); }

  bool operator==(const ExactShape& other) const { return numbers_ == other.numbers_; }

 private:
  static constexpr unsigned kInline = 16;
  c10::SmallVector<int64_t, kInline> numbers_;
};

}  // namespace hearth
