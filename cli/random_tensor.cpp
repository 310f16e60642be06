#include "cli/random_tensor.h"

#include <ATen/ops/empty.h>

#include <random>
#include <string>

namespace hearth::cli {
namespace {

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : generator_(seed) {}

  // In [0, 1).
  double Unit() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  int64_t Digit() { return static_cast<int64_t>(Unit() * 10); }

 private:
  std::mt19937_64 generator_;
};

at::Tensor RandomNumbers(c10::ScalarType scalar, c10::IntArrayRef shape, Numbers& numbers) {
  const bool floating = c10::isFloatingType(scalar);
  at::Tensor tensor = at::empty(shape, at::TensorOptions(floating ? c10::kDouble : c10::kLong));
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (floating) {
      tensor.mutable_data_ptr<double>()[i] = numbers.Unit();
    } else {
      const int64_t digit = numbers.Digit();
      tensor.mutable_data_ptr<int64_t>()[i] = scalar == c10::kBool ? digit % 2 : digit;
    }
  }
  return tensor.to(scalar);
}

}  // namespace

absl::StatusOr<WireTensor> RandomTensor(std::string_view name, std::string_view datatype,
                                        const std::vector<int64_t>& shape, uint64_t seed) {
  auto tensor = DescribeTensor(name, datatype, shape);
  if (!tensor.ok()) return tensor;
  Numbers numbers(seed);
  if (!tensor->datatype->is_bytes()) {
    tensor->tensor = RandomNumbers(tensor->datatype->scalar, shape, numbers);
    return tensor;
  }
  const int64_t count = *CountElements(shape);
  for (int64_t i = 0; i < count; ++i) tensor->strings.push_back("word" + std::to_string(numbers.Digit()));
  return tensor;
}

}  // namespace hearth::cli
