#include "cli/tensor_facts.h"

#include <ATen/core/Tensor.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace hearth::cli {
namespace {

template <typename T>
std::string ShortestText(T number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  // As Python does: a float shows that it is one.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// Whether LibTorch reads the elements as numbers.
bool HoldsNumbers(const at::Tensor& tensor) {
  const c10::ScalarType dtype = tensor.scalar_type();
  if (tensor.is_quantized()) return dynamic_cast<const at::UnknownQuantizer*>(tensor.quantizer().get()) == nullptr;
  return !c10::isBitsType(dtype) && dtype != c10::ScalarType::Float4_e2m1fn_x2 &&
         !(dtype >= c10::ScalarType::UInt1 && dtype <= c10::ScalarType::UInt7) &&
         !(dtype >= c10::ScalarType::Int1 && dtype <= c10::ScalarType::Int7);
}

}  // namespace

std::string NumberText(double number) { return ShortestText(number); }
std::string NumberText(float number) { return ShortestText(number); }

std::string DtypeName(c10::ScalarType type) { return c10::getDtypeNames(type).first; }

std::string ShapeText(c10::IntArrayRef sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

std::optional<at::Tensor> DenseOnCpu(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || !HoldsNumbers(tensor)) return std::nullopt;
  at::Tensor dense = tensor.detach();
  if (dense.is_quantized()) dense = dense.dequantize();
  if (dense.layout() != c10::kStrided) dense = dense.to_dense();
  if (!dense.is_cpu()) dense = dense.cpu();
  return dense.resolve_conj().resolve_neg().contiguous();
}

std::optional<TensorFacts> FactsOf(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_complex()) return std::nullopt;
  const std::optional<at::Tensor> dense = DenseOnCpu(tensor);
  if (!dense) return std::nullopt;
  const at::Tensor numbers = dense->to(at::kDouble).contiguous();
  const double* data = numbers.const_data_ptr<double>();
  TensorFacts facts;
  int64_t finite = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const double number = data[i];
    if (!std::isfinite(number)) {
      ++facts.not_finite;
      continue;
    }
    if (finite == 0 || number < facts.min) facts.min = number;
    if (finite == 0 || number > facts.max) facts.max = number;
    ++finite;
    facts.mean += (number - facts.mean) / static_cast<double>(finite);
  }
  if (finite == 0) return std::nullopt;
  return facts;
}

std::string ElementText(const at::Tensor& contiguous, int64_t index) {
  const at::Tensor element = contiguous.view({-1}).narrow(0, index, 1);
  if (element.is_complex()) {
    const c10::complex<double> number = element.item().toComplexDouble();
    const std::string imaginary = NumberText(number.imag());
    return NumberText(number.real()) + (imaginary.starts_with('-') ? "" : "+") + imaginary + "j";
  }
  if (element.scalar_type() == at::kBool) return element.item().toBool() ? "True" : "False";
  if (element.scalar_type() == at::kDouble) return NumberText(element.item().toDouble());
  if (element.is_floating_point()) return NumberText(static_cast<float>(element.item().toDouble()));
  if (element.scalar_type() == at::kUInt64) return std::to_string(*element.const_data_ptr<uint64_t>());
  return std::to_string(element.to(at::kLong).item().toLong());
}

std::string BytesText(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1000 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
  return text;
}

}  // namespace hearth::cli
