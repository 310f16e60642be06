// A value as a short table for people: a row for each leaf with its path, type and what it holds.
//
//   0.boxes   float32 [100, 4]  min 0.12  max 239.5  mean 101.2
//   0.labels  int64 [3]         [1, 7, 7]
//
// A value that is a leaf itself has the path "result". Paths are those that the server gives outputs as names.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace hearth::cli {

// Ends with a newline.
std::string SummarizeValue(const c10::IValue& value);

// The type and content columns of one tensor, "float32 [2]" and "[1.0, 2.0]"; the content of a large one is its range.
std::string TensorTypeText(const at::Tensor& tensor);
std::string TensorContentText(const at::Tensor& tensor);

// Rows of cells in columns that are as wide as their widest cell, two spaces apart, each row after `indent` spaces. A
// row may have fewer cells than others.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, size_t indent = 0);

}  // namespace hearth::cli
