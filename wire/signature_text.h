// What a method takes and gives, in words, and in what two sets of such descriptions differ.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hearth {

inline constexpr size_t kLongestSignature = 256;  // bytes that Differences writes; of more the rest is left out

struct ParameterText {
  std::string type;  // TorchScript's annotation
  std::string name;
  bool has_default = false;
};

// "(Tensor x, int n=...) -> Tensor", without the marks by which torch tells classes of one name apart: they are not the
// same from save to save.
std::string SignatureText(std::span<const ParameterText> parameters, const std::string& result);
// Of a schema; `arguments` are those that callers give.
std::string SignatureText(std::span<const c10::Argument> arguments, std::span<const c10::Argument> returns);

// What each thing of a kind is, by its name.
using Descriptions = std::map<std::string, std::string>;

// A line for each, "method 'forward' was (Tensor x) -> Tensor, is (Tensor x, int n) -> Tensor" where `kind` is method.
std::vector<std::string> Differences(const std::string& kind, const Descriptions& before, const Descriptions& now);

}  // namespace hearth
