// What the command line tells about a tensor without showing all of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// Over the finite elements; a bool counts as 0 or 1.
struct TensorFacts {
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t not_finite = 0;
};

// "float32", "bfloat16", "qint8": Python's name of a dtype without its torch prefix.
std::string DtypeName(c10::ScalarType type);

// "[2, 3]"
std::string ShapeText(c10::IntArrayRef sizes);

// A dense copy on the CPU: quantized values dequantized, sparse ones dense, lazy conjugation and negation carried out.
// Nothing for a tensor that holds no values (meta), or none that LibTorch reads as numbers (bits8, uint4).
std::optional<at::Tensor> DenseOnCpu(const at::Tensor& tensor);

// Nothing for a tensor without finite elements, and for complex ones.
std::optional<TensorFacts> FactsOf(const at::Tensor& tensor);

// One element of a dense CPU tensor in row-major order, shortest form: "1.5", "3", "True", "1+2j".
std::string ElementText(const at::Tensor& contiguous, int64_t index);

// Shortest text of a double that is read back as the same; "nan", "inf".
std::string NumberText(double number);
// The same for a float, so that 0.1 in float32 is "0.1".
std::string NumberText(float number);

// "46.8 MB"
std::string BytesText(uint64_t bytes);

}  // namespace hearth::cli
