// ATen as the oracle of the evaluator: runs kernels on tensors and compares results.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {

inline constexpr Dtype kAllDtypes[] = {Dtype::kBool,    Dtype::kUint8,  Dtype::kInt8,    Dtype::kInt16,
                                       Dtype::kInt32,   Dtype::kInt64,  Dtype::kFloat16, Dtype::kBFloat16,
                                       Dtype::kFloat32, Dtype::kFloat64};

inline at::ScalarType ScalarTypeOf(Dtype dtype) {
  constexpr at::ScalarType kTypes[] = {at::kBool, at::kByte, at::kChar,     at::kShort, at::kInt,
                                       at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};
  return kTypes[static_cast<size_t>(dtype)];
}

inline at::Tensor TensorOf(Dtype dtype, const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).to(ScalarTypeOf(dtype));
}

// The whole storage, so that views are bounds-checked as what they are.
inline BufferMemory MemoryOfTensor(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  return {{static_cast<std::byte*>(storage.mutable_data()), storage.nbytes()}, tensor.storage_offset()};
}

inline void RunOnTensors(const Kernel& kernel, const std::vector<int64_t>& symbols,
                         std::initializer_list<at::Tensor> tensors, const EvaluationOptions& options = {}) {
  ASSERT_NO_THROW(Verify(kernel)) << Print(kernel);
  std::vector<BufferMemory> memory;
  for (const at::Tensor& tensor : tensors) memory.push_back(MemoryOfTensor(tensor));
  Evaluate(kernel, symbols, memory, options);
}

enum class Likeness {
  kBits,         // any NaN is like any other
  kEqual,        // and 0 like -0
  kFewRoundings  // and what differs by some last places
};

// Of f32 and f64 values as double.
inline bool IsLike(double a, double b, bool single, Likeness likeness) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return likeness == Likeness::kEqual || std::signbit(a) == std::signbit(b);
  if (likeness != Likeness::kFewRoundings || std::isinf(a) || std::isinf(b)) return false;
  const double epsilon = single ? 0x1p-23 : 0x1p-52;
  const double least = single ? 0x1p-149 : 0x1p-1074;
  return std::fabs(a - b) <= 8 * epsilon * std::fabs(b) + 2 * least;
}

// `operands` are shown beside what differs.
inline void ExpectLike(const at::Tensor& given, const at::Tensor& expected, Likeness likeness,
                       const std::vector<at::Tensor>& operands = {}) {
  ASSERT_EQ(given.scalar_type(), expected.scalar_type());
  ASSERT_EQ(given.sizes(), expected.sizes());
  const at::Tensor a = given.flatten();
  const at::Tensor b = expected.flatten();
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (!expected.is_floating_point()) {
      if (at::equal(a, b)) return;
      if (a[i].item<int64_t>() == b[i].item<int64_t>()) continue;
    } else if (IsLike(a[i].item<double>(), b[i].item<double>(), expected.scalar_type() != at::kDouble, likeness)) {
      continue;
    }
    std::ostringstream of;
    for (const at::Tensor& operand : operands) of << " " << operand.flatten()[i].item();
    ADD_FAILURE() << "element " << i << " is " << a[i].item() << ", not " << b[i].item() << "; of" << of.str();
  }
}

}  // namespace hearth::fuser
