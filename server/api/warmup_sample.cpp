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

// Gives `tensor` what a file holds, which is each of its `rows`.
absl::Status FillFromFile(const DataFiles& files, const inference::ModelWarmup::Input& input, int64_t rows,
                          int64_t most_bytes, WireTensor& tensor) {
  auto row = files.Read(input.input_data_file(), *tensor.datatype, {input.dims().begin(), input.dims().end()},
                        std::max<int64_t>(most_bytes, 0) / rows);
  if (!row.ok()) return row.status();
  if (tensor.datatype->is_bytes()) {
    for (int64_t i = 0; i < rows; ++i) {
      tensor.strings.insert(tensor.strings.end(), row->strings.begin(), row->strings.end());
    }
  } else {
    tensor.tensor = row->tensor.expand(tensor.shape).contiguous();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WireTensor>> WarmupTensors(const inference::ModelWarmup& sample, bool batched,
                                                      const DataFiles& files) {
  at::Generator generator = at::detail::createCPUGenerator();
  int64_t bytes = 0;
  std::vector<WireTensor> tensors;
  for (const auto& [name, input] : sample.inputs()) {
    const auto wrong = [&, &input_name = name](const auto&... words) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input_name, "' ", words...));
    };
    std::vector<int64_t> shape(input.dims().begin(), input.dims().end());
    const int64_t rows = batched ? std::max<int64_t>(1, sample.batch_size()) : 1;
    if (batched) shape.insert(shape.begin(), rows);
    const Datatype* datatype = FindDatatype(input.data_type());
    if (datatype == nullptr) return wrong("has no data_type");
    auto tensor = DescribeTensor(name, datatype->name, shape);
    if (!tensor.ok()) return wrong(tensor.status().message());
    const int64_t elements = c10::multiply_integers(shape);
    const auto element_bytes = static_cast<int64_t>(datatype->is_bytes() ? sizeof(std::string) : datatype->size);
    if (elements > (kMostSampleBytes - bytes) / element_bytes) {
      return wrong("makes the sample larger than ", kMostSampleBytes, " bytes");
    }
    const int64_t most_bytes = kMostSampleBytes - bytes;
    bytes += elements * element_bytes;
    if (input.input_data_type_case() == inference::ModelWarmup::Input::kInputDataFile) {
      if (const absl::Status status = FillFromFile(files, input, rows, most_bytes, *tensor); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat("input '", name, "': ", status.message()));
      }
      for (const std::string& text : tensor->strings) bytes += static_cast<int64_t>(text.size());
    } else if (datatype->is_bytes()) {
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
