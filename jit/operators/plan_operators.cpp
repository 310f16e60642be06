#include "jit/operators/plan_operators.h"

#include <ATen/core/stack.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/operators/native.h"

namespace hearth {
namespace {

constexpr const char* kSchemas[] = {
    "hearth::convolution(Tensor input, Tensor weight, Tensor? packed, int[] packed_for, Tensor? bias, int[] padding, "
    "int[] stride, int[] dilation, int groups, str activation, float[] parameters) -> Tensor",
    "hearth::linear(Tensor input, Tensor weight, Tensor? packed, Tensor? bias, str activation) -> Tensor",
    "hearth::linears(Tensor input, Tensor weight, Tensor? bias, int[] outputs) -> Tensor[]",
    "hearth::linear.into(Tensor input, Tensor weight, Tensor? packed, Tensor? bias, str activation, Tensor(a!) memory) "
    "-> Tensor(a!)",
    "hearth::matmul.into(Tensor self, Tensor other, Tensor(a!) memory) -> Tensor(a!)",
};

NativeFunction FunctionOf(std::string_view schema) {
  const std::string_view name = schema.substr(0, schema.find('('));
  for (const NativeEntry& entry : NativeOperators()) {
    if (entry.name == name) return entry.function;
  }
  TORCH_INTERNAL_ASSERT(false, "no native function for ", name);
}

// All of them have one result.
torch::jit::Operation Boxed(NativeFunction function, size_t num_arguments) {
  return [=](torch::jit::Stack& stack) {
    std::vector<const c10::IValue*> arguments;
    for (size_t i = 0; i < num_arguments; ++i) arguments.push_back(&torch::jit::peek(stack, i, num_arguments));
    c10::IValue result;
    function({arguments.data(), num_arguments}, &result);
    torch::jit::drop(stack, num_arguments);
    stack.push_back(std::move(result));
  };
}

}  // namespace

void RegisterPlanOperators() {
  [[maybe_unused]] static const bool registered = [] {
    for (const char* schema : kSchemas) {
      const size_t num_arguments = torch::jit::parseSchema(schema).arguments().size();
      torch::jit::registerOperator(
          torch::jit::Operator(schema, Boxed(FunctionOf(schema), num_arguments), c10::AliasAnalysisKind::FROM_SCHEMA));
    }
    return true;
  }();
}

}  // namespace hearth
