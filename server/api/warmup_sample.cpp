#include "server/api/warmup_sample.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/repository/config_limits.h"

namespace hearth::server {
namespace {

at::Tensor RandomNumbers(c10::IntArrayRef shape, c10::ScalarType type, at::Generator& generator) {
  if (c10::isFloatingType(type)) return at::rand(shape, generator, at::kFloat).to(type);
  return at::randint(2, shape, generator, at::kLong).to(type);
}

}  // namespace

absl::StatusOr<std::vector<WireTensor>> WarmupTensors(const inference::ModelWarmup& sample, bool batched) {
  at::Generator generator = at::detail::createCPUGenerator();
  int64_t bytes = 0;
  std::vector<WireTensor> tensors;
  for (const auto& [name, input] : sample.inputs()) {
    const auto wrong = [&, &input_name = name](const auto&... words) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input_name, "' ", words...));
    };
    std::vector<int64_t> shape(input.dims().begin(), input.dims().end());
    if (batched) shape.insert(shape.begin(), std::max<int64_t>(1, sample.batch_size()));
    const Datatype* datatype = FindDatatype(input.data_type());
    if (datatype == nullptr) return wrong("has no data_type");
    auto tensor = DescribeTensor(name, datatype->name, shape);
    if (!tensor.ok()) return wrong(tensor.status().message());
    const int64_t elements = c10::multiply_integers(shape);
    const auto element_bytes = static_cast<int64_t>(datatype->is_bytes() ? sizeof(std::string) : datatype->size);
    if (elements > (kMostSampleBytes - bytes) / element_bytes) {
      return wrong("makes the sample larger than ", kMostSampleBytes, " bytes");
    }
    bytes += elements * element_bytes;
    if (datatype->is_bytes()) {
      tensor->strings.resize(static_cast<size_t>(elements));
    } else if (input.input_data_type_case() == inference::ModelWarmup::Input::kRandomData) {
      tensor->tensor = RandomNumbers(shape, datatype->scalar, generator);
    } else {
      tensor->tensor = at::zeros(shape, datatype->scalar);
    }
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace hearth::server
