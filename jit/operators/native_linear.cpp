// Linear layers on plain float tensors: the matrix product right through the BLAS that LibTorch brings, which takes the
// dispatcher, the transposed view of the weight and the expanded bias away from a call that may be smaller than they
// are. The results are LibTorch's own, which asks the same of the same BLAS. What is not plain goes LibTorch's way.
//
// hearth::linear, which plans call in the place of a linear layer and what comes right after it, is that with an
// activation in the result's memory; for inputs that a product was planned for (libraries/product.h), it is that
// product. hearth::left_linear is a layer of a transposed input as the input lies, with a transposed result.
// hearth::linears is several layers of one input, with their weights one below the other, as one product.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/linear_ops.h>
#include <ATen/ops/matmul_ops.h>
#include <ATen/ops/narrow.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/device/gpu_blas.h"
#include "jit/libraries/packed_weight.h"
#include "jit/libraries/product.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_product.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/relu_of.h"
#include "jit/operators/strided_copy.h"

namespace hearth::native {
namespace {

void Linear(NativeArguments in, IValue* out) {
  if (IsPlainProduct(in[0], in[1], in[2])) {
    *out = PlainProduct(in[0].toTensor(), in[1].toTensor(), in[2]);
  } else {
    EntryOf<at::_ops::linear>().function(in, out);
  }
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

// Undefined if it was not planned for such an input.
at::Tensor PlannedProduct(const IValue& planned, const at::Tensor& x, const at::Tensor& weight, const IValue& bias,
                          const std::string& epilogue, const at::Tensor* memory) {
  const libraries::Product* product = libraries::Product::Unwrap(planned);
  if (product == nullptr) return {};
  TORCH_CHECK(product->weight().sizes() == weight.sizes(), "another weight was packed");
  if (!product->IsReady(x.numel() / x.sizes().back(), !bias.isNone(), epilogue)) return {};
  at::Tensor result = ProductMemory(x, weight, memory);
  return product->Run(x, bias.isNone() ? nullptr : &bias.toTensor(), epilogue, result) ? result : at::Tensor();
}

// Undefined where a GPU's library does not compute it.
at::Tensor GpuProduct(const IValue& x, const IValue& weight, const IValue& bias, bool has_relu) {
  if (!x.isTensor() || !weight.isTensor() || !x.toTensor().is_cuda()) return {};
  if (!NoModeSeesOperators(c10::DispatchKey::AutocastCUDA)) return {};
  const GpuBlas* blas = BlasOf(x.toTensor().device());
  if (blas == nullptr) return {};
  return blas->Linear(x.toTensor(), weight.toTensor(), OptionalTensorOf(bias), has_relu);
}

// The operand, or a copy whose rows lie one after the other if that is all that it lacks for a planned product.
IValue WithRowsInOrder(const IValue& value) {
  if (!value.isTensor()) return value;
  const at::Tensor& x = value.toTensor();
  if (!IsPlainFloat(x) || HasDefaultStrides(x) || x.numel() == 0 || !NoModeSeesOperators()) return value;
  return Copied(x, at::MemoryFormat::Contiguous);
}

// linear(Tensor input, Tensor weight, Any planned, Tensor? bias, str epilogue) -> Tensor, and linear.into with the
// memory that the result may have behind.
void FollowedLinear(NativeArguments in, IValue* out) {
  constexpr int64_t kFewElements = 4096;
  const std::string& epilogue = in[4].toStringRef();
  const bool has_relu = epilogue == "relu";
  at::Tensor result = GpuProduct(in[0], in[1], in[3], has_relu);
  if (result.defined()) {
    if (!has_relu) libraries::ApplyEpilogue(epilogue, result);
  } else if (const IValue input = in[2].isNone() ? in[0] : WithRowsInOrder(in[0]);
             !IsPlainProduct(input, in[1], in[3])) {
    IValue plain;
    const IValue* const inputs[] = {in.values[0], in.values[1], in.values[3]};
    EntryOf<at::_ops::linear>().function({inputs, 3}, &plain);
    result = std::move(plain).toTensor();
    libraries::ApplyEpilogue(epilogue, result);
  } else {
    const at::Tensor& x = input.toTensor();
    const at::Tensor* memory = in.count == 6 ? &in[5].toTensor() : nullptr;
    result = PlannedProduct(in[2], x, in[1].toTensor(), in[3], epilogue, memory);
    if (!result.defined()) {
      result = PlainProduct(x, in[1].toTensor(), in[3], memory);
      if (has_relu && result.numel() <= kFewElements) {
        ReluAll(result.mutable_data_ptr<float>(), result.numel());
      } else {
        libraries::ApplyEpilogue(epilogue, result);
      }
    }
  }
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

// matmul(Tensor self, Tensor other) -> Tensor
void Matmul(NativeArguments in, IValue* out) {
  const at::Tensor& left = in[0].toTensor();
  const at::Tensor& right = in[1].toTensor();
  if (left.dim() >= 2 && left.dim() == right.dim() && left.scalar_type() == at::kFloat) {
    c10::SmallVector<int64_t, 6> sizes(left.sizes().begin(), left.sizes().end());
    sizes.back() = right.sizes().back();
    at::Tensor result(at::detail::empty_cpu(sizes, at::kFloat));
    if (MultiplyInto(in[0], in[1], result)) {
      *out = std::move(result);
      return;
    }
  }
  EntryOf<at::_ops::matmul>().function(in, out);
}

// left_linear(Tensor input, Tensor weight, Tensor? bias, str epilogue) -> Tensor, and left_linear.into with the memory
// that the result may have behind: the layer of the input's columns, as columns of the result.
void LeftLinear(NativeArguments in, IValue* out) {
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor& weight = in[1].toTensor();
  const std::string& epilogue = in[3].toStringRef();
  TORCH_CHECK(weight.dim() == 2 && x.dim() >= 2 && weight.size(1) == x.size(-2),
              "expected a weight with a column for each row of the input, found sizes ", weight.sizes(), " and ",
              x.sizes());
  at::Tensor result = PlainLeftProduct(in[1], in[0], in[2], epilogue, in.count == 5 ? &in[4].toTensor() : nullptr);
  if (!result.defined()) {
    result = at::_ops::matmul::call(weight, x);
    if (in[2].isTensor()) result = at::_ops::add_Tensor::call(result, in[2].toTensor().unsqueeze(-1), 1);
    libraries::ApplyEpilogue(epilogue, result);
  }
  *out = std::move(result);
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
    {"aten::linear", Linear},
    {"hearth::linear", FollowedLinear},
    {"hearth::linear.into", FollowedLinear},
    {"hearth::left_linear", LeftLinear},
    {"hearth::left_linear.into", LeftLinear},
    {"hearth::linears", Linears},
    {"hearth::matmul", Matmul},
    {"hearth::matmul.into", MatmulInto},
};

}  // namespace

std::span<const NativeEntry> LinearNatives() { return kEntries; }

}  // namespace hearth::native
