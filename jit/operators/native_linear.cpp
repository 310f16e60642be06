// Linear layers on plain float tensors: the matrix product right through the BLAS that LibTorch brings, which takes the
// dispatcher, the transposed view of the weight and the expanded bias away from a call that may be smaller than they
// are. The results are LibTorch's own, which asks the same of the same BLAS. What is not plain goes LibTorch's way.
//
// hearth::linear, which plans call in the place of a linear layer and what comes right after it, is that with an
// activation in the result's memory; large products take a weight that was packed beforehand for oneDNN, if there is
// one. hearth::linears is several layers of one input, with their weights one below the other, as one product.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/linear_ops.h>
#include <ATen/ops/matmul_ops.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/tanh_ops.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_product.h"
#include "jit/operators/relu_of.h"

namespace hearth::native {
namespace {

void Linear(NativeArguments in, IValue* out) {
  if (IsPlainProduct(in[0], in[1], in[2])) {
    *out = PlainProduct(in[0].toTensor(), in[1].toTensor(), in[2]);
  } else {
    EntryOf<at::_ops::linear>().function(in, out);
  }
}

// In place where nobody else sees the tensor: always but of what LibTorch gave, whose result may be something else.
void Activate(const std::string& activation, at::Tensor& tensor) {
  if (activation == "relu") {
    at::_ops::relu_::call(tensor);
  } else if (activation == "gelu") {
    at::_ops::gelu_::call(tensor, "none");
  } else if (activation == "gelu_tanh") {
    at::_ops::gelu_::call(tensor, "tanh");
  } else if (activation == "silu") {
    at::_ops::silu_::call(tensor);
  } else if (activation == "sigmoid") {
    at::_ops::sigmoid_::call(tensor);
  } else if (activation == "tanh") {
    at::_ops::tanh_::call(tensor);
  } else {
    TORCH_CHECK(false, "no activation is called '", activation, "'");
  }
}

using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                             c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);

// With what oneDNN does right after the product; whether that was the activation too.
bool PackedProduct(const at::Tensor& x, const at::Tensor& packed, const IValue& bias, const std::string& activation,
                   at::Tensor* result) {
  static const auto pointwise =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Pointwise>();
  std::string_view attribute = "none";
  std::optional<std::string_view> algorithm;
  if (activation == "gelu" || activation == "gelu_tanh") {
    attribute = "gelu";
    algorithm = activation == "gelu" ? "none" : "tanh";
  } else if (activation == "silu") {
    attribute = "swish";
  }
  const Parameter<const std::optional<at::Tensor>&> optional_bias(bias);
  *result = pointwise.call(x, packed, optional_bias.held, attribute, c10::List<std::optional<at::Scalar>>(), algorithm);
  return attribute != "none";
}

// Eight at a time, which the compiler makes vector instructions of.
void ReluAll(float* elements, int64_t count) {
  constexpr int64_t kTogether = 8;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    for (int64_t j = 0; j < kTogether; ++j) elements[i + j] = ReluOf(elements[i + j]);
  }
  for (; i < count; ++i) elements[i] = ReluOf(elements[i]);
}

// linear(Tensor input, Tensor weight, Tensor? packed, Tensor? bias, str activation) -> Tensor, and linear.into with the
// memory that the result may have behind.
void ActivatedLinear(NativeArguments in, IValue* out) {
  constexpr int64_t kFewElements = 4096;
  const std::string& activation = in[4].toStringRef();
  at::Tensor result;
  bool activated = activation == "none";
  if (!IsPlainProduct(in[0], in[1], in[3])) {
    IValue plain;
    const IValue* const inputs[] = {in.values[0], in.values[1], in.values[3]};
    EntryOf<at::_ops::linear>().function({inputs, 3}, &plain);
    result = std::move(plain).toTensor();
  } else if (const at::Tensor& x = in[0].toTensor();
             in[2].isTensor() && IsWorthPacking(1, x.numel(), in[1].toTensor().sizes()[0])) {
    const at::Tensor& packed = in[2].toTensor();
    TORCH_CHECK(packed.is_mkldnn() && packed.sizes() == in[1].toTensor().sizes(), "another weight was packed");
    activated |= PackedProduct(x, packed, in[3], activation, &result);
  } else {
    result = PlainProduct(x, in[1].toTensor(), in[3], in.count == 6 ? &in[5].toTensor() : nullptr);
    if (activation == "relu" && result.numel() <= kFewElements) {
      ReluAll(result.mutable_data_ptr<float>(), result.numel());
      activated = true;
    }
  }
  if (!activated) Activate(activation, result);
  *out = std::move(result);
}

// matmul.into(Tensor self, Tensor other, Tensor(a!) memory) -> Tensor(a!): the result is there, or in memory of its
// own.
void MatmulInto(NativeArguments in, IValue* out) {
  if (MultiplyInto(in[0], in[1], in[2].toTensor())) {
    *out = in[2];
  } else {
    EntryOf<at::_ops::matmul>().function({in.values, 2}, out);
  }
}

// linears(Tensor input, Tensor weight, Tensor? bias, int[] outputs) -> Tensor[]
void Linears(NativeArguments in, IValue* out) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& w = in[1].toTensor();
  int64_t all_outputs = 0;
  for (const IValue& each : Elements(in[3])) {
    TORCH_CHECK(each.toInt() >= 0, "a layer cannot have ", each.toInt(), " outputs");
    TORCH_CHECK(!__builtin_add_overflow(all_outputs, each.toInt(), &all_outputs), "the layers have too many outputs");
  }
  TORCH_CHECK(w.dim() == 2 && w.size(0) == all_outputs, "expected a weight with a row for each of ", all_outputs,
              " outputs, found one of sizes ", w.sizes());
  std::vector<IValue> results;
  if (IsPlainProduct(in[0], in[1], in[2])) {
    const at::Tensor together = PlainProduct(x, w, in[2]);
    const int64_t width = w.sizes()[0], rows = together.numel() / width;
    const float* from = together.const_data_ptr<float>();
    c10::SmallVector<int64_t, 6> sizes(x.sizes().begin(), x.sizes().end());
    for (const IValue& each : Elements(in[3])) {
      const int64_t outputs = sizes.back() = each.toInt();
      at::Tensor result(at::detail::empty_cpu(sizes, at::kFloat));
      float* to = result.mutable_data_ptr<float>();
      for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * width, outputs, to + row * outputs);
      from += outputs;
      results.emplace_back(std::move(result));
    }
  } else {
    int64_t begin = 0;
    for (const IValue& each : Elements(in[3])) {
      const int64_t outputs = each.toInt();
      std::optional<at::Tensor> bias;
      if (in[2].isTensor()) bias = in[2].toTensor().narrow(0, begin, outputs);
      results.emplace_back(at::_ops::linear::call(x, w.narrow(0, begin, outputs), bias));
      begin += outputs;
    }
  }
  *out = MakeList(c10::TensorType::get(), std::move(results));
}

constexpr NativeEntry kEntries[] = {
    {"aten::linear", Linear},     {"hearth::linear", ActivatedLinear}, {"hearth::linear.into", ActivatedLinear},
    {"hearth::linears", Linears}, {"hearth::matmul.into", MatmulInto},
};

}  // namespace

std::span<const NativeEntry> LinearNatives() { return kEntries; }

}  // namespace hearth::native
