#include "jit/operators/plan_operators.h"

#include <ATen/core/stack.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/operators/native.h"

namespace hearth {
namespace {

constexpr const char* kSchemas[] = {
    "hearth::channel_shuffle(Tensor[] tensors, int groups, int first, int count) -> Tensor",
    "hearth::convolution(Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor",
    "hearth::add_convolution(Tensor self, Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor",
    "hearth::add_convolution_(Tensor(a!) self, Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor(a!)",
    "hearth::group_scales(Tensor images, int groups, Tensor? weight, Tensor? bias, float eps, Tensor? added) -> "
    "(Tensor, "
    "Tensor)",
    "hearth::grouped_linear(Tensor input, Tensor weight) -> Tensor",
    "hearth::linear(Tensor input, Tensor weight, Any planned, Tensor? bias, str epilogue) -> Tensor",
    "hearth::linears(Tensor input, Tensor weight, Tensor? bias, int[] outputs) -> Tensor[]",
    "hearth::linear.into(Tensor input, Tensor weight, Any planned, Tensor? bias, str epilogue, Tensor(a!) memory) "
    "-> Tensor(a!)",
    "hearth::left_linear(Tensor input, Tensor weight, Tensor? bias, str epilogue) -> Tensor",
    "hearth::left_linear.into(Tensor input, Tensor weight, Tensor? bias, str epilogue, Tensor(a!) memory) -> "
    "Tensor(a!)",
    "hearth::matmul(Tensor self, Tensor other) -> Tensor",
    "hearth::matmul.into(Tensor self, Tensor other, Tensor(a!) memory) -> Tensor(a!)",
    "hearth::attention(Tensor query, Tensor key, Tensor value, Tensor? bias, float scale, bool tokens_first) -> Tensor",
    "hearth::lstm(Tensor input, Tensor[] hx, Any planned, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    "hearth::gru(Tensor input, Tensor hx, Any planned, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    "hearth::spread_channels(Tensor images, int[] factors, int[] first, int[] last) -> Tensor",
    "hearth::fused(Any kernel, ...) -> Tensor",
    "hearth::fused.several(Any kernel, ...) -> ...",
};

NativeFunction FunctionOf(std::string_view schema) {
  const std::string_view name = schema.substr(0, schema.find('('));
  for (const NativeEntry& entry : NativeOperators()) {
    if (entry.name == name) return entry.function;
  }
  TORCH_INTERNAL_ASSERT(false, "no native function for ", name);
}

torch::jit::Operation Boxed(NativeFunction function, size_t num_arguments, size_t num_results) {
  return [=](torch::jit::Stack& stack) {
    std::vector<const c10::IValue*> arguments;
    for (size_t i = 0; i < num_arguments; ++i) arguments.push_back(&torch::jit::peek(stack, i, num_arguments));
    std::vector<c10::IValue> results(num_results);
    function({arguments.data(), num_arguments}, results.data());
    torch::jit::drop(stack, num_arguments);
    for (c10::IValue& result : results) stack.push_back(std::move(result));
  };
}

// Of hearth::fused: how many operands there are is on top of the stack, how many results the kernel says.
void RunFused(torch::jit::Stack& stack) {
  const auto count = static_cast<size_t>(torch::jit::pop(stack).toInt());
  std::vector<const c10::IValue*> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back(&torch::jit::peek(stack, i, count));
  const fuser::FusedKernel& kernel = fuser::FusedKernel::Of(operands);
  std::vector<c10::IValue> results(kernel.signature().outputs.size());
  kernel.Run(operands, results.data());
  torch::jit::drop(stack, count);
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

}  // namespace

void RegisterPlanOperators() {
  [[maybe_unused]] static const bool registered = [] {
    for (const char* schema : kSchemas) {
      const c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
      torch::jit::Operation operation =
          parsed.is_vararg() ? RunFused : Boxed(FunctionOf(schema), parsed.arguments().size(), parsed.returns().size());
      torch::jit::registerOperator(
          torch::jit::Operator(schema, std::move(operation), c10::AliasAnalysisKind::FROM_SCHEMA));
    }
    return true;
  }();
}

}  // namespace hearth
