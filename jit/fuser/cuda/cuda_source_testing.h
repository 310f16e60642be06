// For tests: the CUDA C++ of kernels, and parts of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/fuser/cuda/generate_cuda.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {

// Of a kernel as text, which is to be well-formed.
inline std::string SourceOf(const std::string& text) {
  const Kernel kernel = Parse(text);
  Verify(kernel);
  return CudaSource(kernel);
}

// Of a source, from the line that begins a function to its end.
inline std::string FunctionOf(const std::string& source, const std::string& name) {
  const size_t begin = source.find(name + "(const Arguments a) {\n");
  if (begin == std::string::npos) return "there is no " + name + " in\n" + source;
  return source.substr(begin, source.find("\n}\n", begin) + 3 - begin);
}

// The text of a kernel of the symbols %0 and %1, with constants in their place.
inline std::string WithConstantSizes(std::string_view text, int64_t rows, int64_t columns) {
  constexpr std::string_view kSymbols = "kernel(%0, %1) {\n";
  return "kernel() {\n  %0 = i64 constant " + std::to_string(rows) + "\n  %1 = i64 constant " +
         std::to_string(columns) + "\n" + std::string(text.substr(kSymbols.size()));
}

}  // namespace hearth::fuser
