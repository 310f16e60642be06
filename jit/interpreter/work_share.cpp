#include "jit/interpreter/work_share.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <string_view>

#include "jit/definitions/definition.h"

namespace hearth {
namespace {

// About how long threads take to wake and to meet at the end; convolutions of LibTorch's have several such regions, as
// they bring their operands into other layouts first.
constexpr double kWaking = 60'000;  // nanoseconds, as all that follow
constexpr double kWakingOfConvolution = 250'000;
// About how long one thread takes for each of them.
constexpr double kOfElement = 0.4;
constexpr double kOfPooledElement = 1;
constexpr double kOfProduct = 0.03;

WorkMeasure MeasureOfProduct(std::string_view name) {
  for (const char* known : {"aten::linear", "aten::matmul", "aten::mm", "aten::bmm"}) {
    if (name == known) return WorkMeasure::kProduct;
  }
  for (const char* known : {"aten::addmm", "aten::baddbmm"}) {
    if (name == known) return WorkMeasure::kAddedProduct;
  }
  return WorkMeasure::kUnknown;
}

double ElementsOf(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? static_cast<double>(value.toTensor().numel()) : 0;
  if (!value.isTensorList()) return 0;
  double sum = 0;
  for (const c10::IValue& each : value.toListRef()) sum += ElementsOf(each);
  return sum;
}

const at::Tensor* MatrixAt(std::span<const c10::IValue* const> operands, size_t place) {
  if (place >= operands.size() || !operands[place]->isTensor()) return nullptr;
  const at::Tensor& tensor = operands[place]->toTensor();
  return tensor.defined() && tensor.dim() > 0 ? &tensor : nullptr;
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

}  // namespace

WorkMeasure WorkMeasureOf(const Node& node) {
  const c10::Symbol kind = node.kind();
  if (!kind.is_aten()) return WorkMeasure::kUnknown;
  const OperatorDefinition* in_place = FindInPlace(kind);
  switch ((in_place != nullptr ? *in_place : DefinitionOf(kind)).kind) {
    case OperatorClass::kPointwise:
    case OperatorClass::kReduction:
    case OperatorClass::kNormalization:
    case OperatorClass::kDropout:
    case OperatorClass::kView:
    case OperatorClass::kJoin:
    case OperatorClass::kConversion:
      return WorkMeasure::kElements;
    case OperatorClass::kPooling:
      return WorkMeasure::kPooledElements;
    case OperatorClass::kProduct:
      return MeasureOfProduct(kind.toQualString());
    case OperatorClass::kConvolution:
      return WorkMeasure::kConvolution;
    default:
      return WorkMeasure::kUnknown;
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
    case WorkMeasure::kElements:
    case WorkMeasure::kPooledElements: {
      double most = 0;
      for (const c10::IValue* operand : operands) most = std::max(most, ElementsOf(*operand));
      return is_little(most, measure == WorkMeasure::kElements ? kOfElement : kOfPooledElement, kWaking);
    }
    case WorkMeasure::kProduct:
      return is_little(Products(operands, 0), kOfProduct, kWaking);
    case WorkMeasure::kAddedProduct:
      return is_little(Products(operands, 1), kOfProduct, kWaking);
    case WorkMeasure::kConvolution:
      return is_little(ProductsOfConvolution(operands), kOfProduct, kWakingOfConvolution);
  }
  return false;
}

void WorkShare::Decide(WorkMeasure measure, std::span<const c10::IValue* const> operands) {
  const int threads = at::get_num_threads();
  if (threads > 1 && IsDoneAlone(measure, operands, threads)) alone_.emplace();
}

}  // namespace hearth
