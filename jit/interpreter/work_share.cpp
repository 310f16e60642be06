#include "jit/interpreter/work_share.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "jit/definitions/definition.h"

namespace hearth {
namespace {

// About how long threads take to wake and to meet at the end; of operators with several such regions, too: convolutions
// of LibTorch's, which bring their operands into other layouts first, and whole layers.
constexpr double kWaking = 60'000;  // nanoseconds, as all that follow
constexpr double kWakingOften = 250'000;
// LibTorch shares no fewer elements (at::internal::GRAIN_SIZE), but where it counts rows.
constexpr double kFewestShared = 32'768;
// About how long one thread takes for each of them.
constexpr double kOfElement = 0.4;
constexpr double kOfPooledElement = 1;
constexpr double kOfProduct = 0.03;

constexpr std::array<std::pair<std::string_view, WorkMeasure>, 19> kByName = {{
    {"aten::contiguous", WorkMeasure::kElements},
    {"aten::reshape", WorkMeasure::kElements},
    {"aten::linear", WorkMeasure::kProduct},
    {"aten::matmul", WorkMeasure::kProduct},
    {"aten::mm", WorkMeasure::kProduct},
    {"aten::bmm", WorkMeasure::kProduct},
    {"aten::addmm", WorkMeasure::kAddedProduct},
    {"aten::baddbmm", WorkMeasure::kAddedProduct},
    {"aten::scaled_dot_product_attention", WorkMeasure::kAttention},
    {"aten::_transformer_encoder_layer_fwd", WorkMeasure::kLayer},
    {"aten::_native_multi_head_attention", WorkMeasure::kLayer},
    {"aten::lstm_cell", WorkMeasure::kLayer},
    {"aten::gru_cell", WorkMeasure::kLayer},
    {"aten::rnn_tanh_cell", WorkMeasure::kLayer},
    {"aten::rnn_relu_cell", WorkMeasure::kLayer},
    {"aten::lstm", WorkMeasure::kRecurrence},
    {"aten::gru", WorkMeasure::kRecurrence},
    {"aten::rnn_tanh", WorkMeasure::kRecurrence},
    {"aten::rnn_relu", WorkMeasure::kRecurrence},
}};

WorkMeasure MeasureByName(std::string_view name) {
  const auto found = std::ranges::find(kByName, name, &std::pair<std::string_view, WorkMeasure>::first);
  return found == kByName.end() ? WorkMeasure::kUnknown : found->second;
}

double ElementsOf(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? static_cast<double>(value.toTensor().numel()) : 0;
  if (!value.isTensorList()) return 0;
  double sum = 0;
  for (const c10::IValue& each : value.toListRef()) sum += ElementsOf(each);
  return sum;
}

double MostElements(std::span<const c10::IValue* const> operands) {
  double most = 0;
  for (const c10::IValue* operand : operands) most = std::max(most, ElementsOf(*operand));
  return most;
}

// Null where there is none.
const at::Tensor* MatrixAt(std::span<const c10::IValue* const> operands, size_t place) {
  if (place >= operands.size() || !operands[place]->isTensor()) return nullptr;
  const at::Tensor& tensor = operands[place]->toTensor();
  // Others may have no sizes to ask for.
  const bool is_plain = tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_nested();
  return is_plain && tensor.dim() > 0 ? &tensor : nullptr;
}

// Multiplications, or more where there are several matrices. Nothing where the operands are none.
std::optional<double> Products(std::span<const c10::IValue* const> operands, size_t first) {
  const at::Tensor *left = MatrixAt(operands, first), *right = MatrixAt(operands, first + 1);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const auto inner = static_cast<double>(std::max<int64_t>(left->size(-1), 1));
  return static_cast<double>(left->numel()) * static_cast<double>(right->numel()) / inner;
}

// Multiplications of one with stride 1.
std::optional<double> ProductsOfConvolution(std::span<const c10::IValue* const> operands) {
  const at::Tensor *input = MatrixAt(operands, 0), *weight = MatrixAt(operands, 1);
  if (input == nullptr || weight == nullptr || input->dim() != weight->dim() || input->dim() < 3) return std::nullopt;
  const auto channels = static_cast<double>(std::max<int64_t>(input->size(1), 1));
  return static_cast<double>(weight->numel()) * static_cast<double>(input->numel()) / channels;
}

std::optional<double> ProductsOfAttention(std::span<const c10::IValue* const> operands) {
  const at::Tensor *queries = MatrixAt(operands, 0), *keys = MatrixAt(operands, 1);
  if (queries == nullptr || keys == nullptr || keys->dim() < 2) return std::nullopt;
  return 2 * static_cast<double>(queries->numel()) * static_cast<double>(keys->size(-2));
}

// Without those of attention, which are more than the others only in sequences of many thousands.
std::optional<double> ProductsOfLayer(std::span<const c10::IValue* const> operands) {
  const at::Tensor* input = MatrixAt(operands, 0);
  if (input == nullptr) return std::nullopt;
  double weights = 0;
  for (const c10::IValue* operand : operands.subspan(1)) {
    if (operand->isTensor()) weights += ElementsOf(*operand);
  }
  return static_cast<double>(input->numel()) / static_cast<double>(std::max<int64_t>(input->size(-1), 1)) * weights;
}

// Of one step, since the next one waits for it.
std::optional<double> ProductsOfStep(std::span<const c10::IValue* const> operands) {
  const at::Tensor* input = MatrixAt(operands, 0);
  if (input == nullptr || input->dim() < 2) return std::nullopt;
  double weights = 0;
  for (const c10::IValue* operand : operands.subspan(1)) {
    if (operand->isTensorList()) weights = std::max(weights, ElementsOf(*operand));
  }
  // Of steps and sequences one comes first and the other second; either is for the settings to say.
  const int64_t sequences = input->dim() < 3 ? 1 : std::min(input->size(0), input->size(1));
  return static_cast<double>(sequences) * weights;
}

}  // namespace

WorkMeasure WorkMeasureOf(const Node& node) {
  const c10::Symbol kind = node.kind();
  if (!kind.is_aten()) return WorkMeasure::kUnknown;
  const OperatorDefinition* in_place = FindInPlace(kind);
  switch ((in_place != nullptr ? *in_place : DefinitionOf(kind)).kind) {
    case OperatorClass::kPointwise:
    case OperatorClass::kDropout:
    case OperatorClass::kJoin:
    case OperatorClass::kConversion:
      return WorkMeasure::kElements;
    case OperatorClass::kReduction:
    case OperatorClass::kNormalization:
      return WorkMeasure::kRows;
    case OperatorClass::kPooling:
      return WorkMeasure::kPooledElements;
    case OperatorClass::kConvolution:
      return WorkMeasure::kConvolution;
    default:
      return MeasureByName(kind.toQualString());
  }
}

bool IsDoneAlone(WorkMeasure measure, std::span<const c10::IValue* const> operands, int threads) {
  // What so many threads save.
  const double saved = 1 - 1.0 / threads;
  const auto is_little = [&](const std::optional<double>& count, double nanoseconds, double waking) {
    return count && *count * nanoseconds * saved < waking;
  };
  switch (measure) {
    case WorkMeasure::kUnknown:
      return false;
    case WorkMeasure::kElements: {
      const double elements = MostElements(operands);
      return elements >= kFewestShared && is_little(elements, kOfElement, kWaking);
    }
    case WorkMeasure::kRows:
      return is_little(MostElements(operands), kOfElement, kWaking);
    case WorkMeasure::kPooledElements:
      return is_little(MostElements(operands), kOfPooledElement, kWaking);
    case WorkMeasure::kProduct:
      return is_little(Products(operands, 0), kOfProduct, kWaking);
    case WorkMeasure::kAddedProduct:
      return is_little(Products(operands, 1), kOfProduct, kWaking);
    case WorkMeasure::kConvolution:
      return is_little(ProductsOfConvolution(operands), kOfProduct, kWakingOften);
    case WorkMeasure::kAttention:
      return is_little(ProductsOfAttention(operands), kOfProduct, kWaking);
    case WorkMeasure::kLayer:
      return is_little(ProductsOfLayer(operands), kOfProduct, kWakingOften);
    case WorkMeasure::kRecurrence:
      return is_little(ProductsOfStep(operands), kOfProduct, kWaking);
  }
  return false;
}

void WorkShare::Decide(WorkMeasure measure, std::span<const c10::IValue* const> operands) {
  const int threads = at::get_num_threads();
  if (threads > 1 && IsDoneAlone(measure, operands, threads)) alone_.emplace();
}

}  // namespace hearth
