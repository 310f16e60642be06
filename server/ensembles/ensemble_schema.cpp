#include "server/ensembles/ensemble_schema.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

template <typename Tensor>
c10::TypePtr TypeOf(const Tensor& tensor) {
  if (tensor.data_type() == inference::TYPE_STRING) return c10::ListType::ofStrings();
  return c10::TensorType::get();
}

c10::Argument ArgumentOf(const inference::ModelInput& input) {
  if (!input.optional()) return c10::Argument(input.name(), TypeOf(input));
  return c10::Argument(input.name(), c10::OptionalType::create(TypeOf(input)), std::nullopt, c10::IValue());
}

// The sizes behind the batch dimension, as steps see them.
template <typename Tensor>
std::vector<int64_t> InnerDims(const Tensor& tensor) {
  const auto& dims = tensor.has_reshape() ? tensor.reshape().shape() : tensor.dims();
  return {dims.begin(), dims.end()};
}

// Has a tensor of BYTES be a flat list at the edge.
template <typename Tensor>
absl::Status Flatten(const char* kind, bool batched, Tensor& tensor) {
  if (tensor.data_type() != inference::TYPE_STRING) return absl::OkStatus();
  const std::vector<int64_t> dims = InnerDims(tensor);
  const bool ones = std::ranges::all_of(dims, [](int64_t size) { return size == 1; });
  if (batched && !ones) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind, " '", tensor.name(),
                     "' of TYPE_STRING has dims other than 1: with max_batch_size above 0, an ensemble's ", kind,
                     " of strings has one for each row of the batch"));
  }
  if (std::ranges::count(dims, -1) > 1) {
    return absl::InvalidArgumentError(absl::StrCat(kind, " '", tensor.name(),
                                                   "' of TYPE_STRING has more than one size that varies, which an "
                                                   "ensemble's strings cannot have"));
  }
  auto& flat = *tensor.mutable_reshape();
  flat.clear_shape();
  if (!batched) flat.add_shape(-1);
  return absl::OkStatus();
}

}  // namespace

c10::FunctionSchema EnsembleSchema(const inference::ModelConfig& config) {
  std::vector<c10::Argument> arguments = {c10::Argument("self", c10::AnyType::get())};
  for (const auto& input : config.input()) arguments.push_back(ArgumentOf(input));
  std::vector<std::string> names;
  std::vector<c10::TypePtr> types;
  for (const auto& output : config.output()) {
    names.push_back(output.name());
    types.push_back(TypeOf(output));
  }
  auto answer = c10::TupleType::createNamed(c10::QualifiedName("__ensemble__.Outputs"), names, types);
  return {"forward", "", std::move(arguments), {c10::Argument("", std::move(answer))}};
}

c10::TupleTypePtr AnswerType(const c10::FunctionSchema& schema) {
  return schema.returns().at(0).type()->expect<c10::TupleType>();
}

absl::StatusOr<inference::ModelConfig> EdgeConfig(inference::ModelConfig config) {
  const bool batched = config.max_batch_size() > 0;
  for (auto& input : *config.mutable_input()) {
    if (absl::Status status = Flatten("input", batched, input); !status.ok()) return status;
  }
  for (auto& output : *config.mutable_output()) {
    if (absl::Status status = Flatten("output", batched, output); !status.ok()) return status;
  }
  return config;
}

std::optional<std::vector<int64_t>> ShapeOfStrings(const inference::ModelInput& input, bool batched, int64_t count) {
  std::vector<int64_t> shape = InnerDims(input);
  if (batched) shape.insert(shape.begin(), -1);
  int64_t known = 1;
  for (const int64_t size : shape) {
    if (size != -1 && __builtin_mul_overflow(known, size, &known)) return std::nullopt;
  }
  const auto open = std::ranges::find(shape, -1);
  if (open == shape.end()) return known == count ? std::optional(std::move(shape)) : std::nullopt;
  if (known == 0 || count % known != 0) return std::nullopt;
  *open = count / known;
  return shape;
}

}  // namespace hearth::server
