#include "jit/definitions/activation_call.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "jit/definitions/node_effects.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

std::optional<double> NumberIn(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !(constant->isInt() || constant->isDouble())) return {};
  return constant->isInt() ? static_cast<double>(constant->toInt()) : constant->toDouble();
}

}  // namespace

std::string EpilogueOf(const Node& node) {
  if (node.op() == nullptr || !node.op()->schema().overload_name().empty() || node.outputs().size() != 1) return {};
  const OperatorDefinition* in_place = FindInPlace(node.kind());
  const OperatorDefinition& definition = in_place != nullptr ? *in_place : DefinitionOf(node.kind());
  std::string name(definition.epilogue);
  if (name == "gelu") {
    const c10::IValue* approximation = ConstantOf(*node.input(1));
    if (approximation == nullptr || !approximation->isString()) return {};
    return approximation->toStringRef() == "tanh" ? "gelu_tanh" : name;
  }
  // Of clamps, that between 0 and 6.
  if (name == "relu6" && node.inputs().size() > 1) {
    const bool clamps_so = node.inputs().size() == 3 && NumberIn(*node.input(1)) == 0 && NumberIn(*node.input(2)) == 6;
    return clamps_so ? name : std::string();
  }
  if (name == "leaky_relu") {
    const std::optional<double> slope = NumberIn(*node.input(1));
    if (!slope || *slope == 0 || !std::isfinite(*slope)) return {};
    std::array<char, 32> digits;
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), *slope);
    return error == std::errc() ? name + "=" + std::string(digits.begin(), end) : std::string();
  }
  return name;
}

}  // namespace hearth
