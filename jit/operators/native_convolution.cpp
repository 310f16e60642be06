// hearth::convolution, which plans call in the place of a convolution and the addition or activation after it: weights
// that were packed beforehand, in the format that the library which computes it (oneDNN) likes best, and a result in
// channels-last format. It raises where `input` is not what the plan was made for, so that the baseline does it.
//
// The best format depends on the input's sizes, and one that is best for others may be much worse than none: beside
// `weight`, which is good for all, there may be one that was `packed` for inputs of the sizes `packed_for`.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/add_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"

namespace hearth::native {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;
using OptionalText = std::optional<std::string_view>;

using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&, at::IntArrayRef,
                             at::IntArrayRef, at::IntArrayRef, int64_t, std::string_view, Scalars, OptionalText);
using PointwiseWithOther = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                                      at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, int64_t, std::string_view,
                                      std::optional<at::Scalar>, OptionalText, Scalars, OptionalText);

template <typename Schema>
c10::TypedOperatorHandle<Schema> Find(const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_convolution_pointwise", overload).typed<Schema>();
}

// Packed, or in the format of the result.
bool IsWeight(const at::Tensor& weight) {
  if (weight.dim() != 4) return false;
  return weight.is_mkldnn() ||
         (IsPlainFloat(weight) && weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
}

// The library takes what is added at its word.
void CheckOther(const at::Tensor& other, const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                at::IntArrayRef stride, at::IntArrayRef dilation) {
  TORCH_CHECK(IsPlainFloat(other) && other.dim() == 4, "what is added to a convolution is no batch of images");
  bool fits = other.size(0) == input.size(0) && other.size(1) == weight.size(0);
  for (size_t i = 0; i < 2; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t room = input.size(dim) + 2 * padding[i] - dilation[i] * (weight.size(dim) - 1) - 1;
    fits &= room >= 0 && other.size(dim) == room / stride[i] + 1;
  }
  TORCH_CHECK(fits, "what is added to a convolution has another size");
}

// (Tensor input, Tensor weight, Tensor? packed, int[] packed_for, Tensor? bias, int[] padding, int[] stride,
//  int[] dilation, int groups, Tensor? other, str activation, float[] parameters) -> Tensor
void Convolution(NativeArguments in, IValue* out) {
  static const auto pointwise = Find<Pointwise>("");
  static const auto pointwise_with_other = Find<PointwiseWithOther>("binary");
  const at::Tensor& input = in[0].toTensor();
  Parameter<at::IntArrayRef> packed_for(in[3]);
  const bool is_packed_for = !in[2].isNone() && IsPlainFloat(input) && input.sizes() == packed_for.get();
  const at::Tensor& weight = in[is_packed_for ? 2 : 1].toTensor();
  const Parameter<const OptionalTensor&> bias(in[4]);
  Parameter<at::IntArrayRef> padding(in[5]), stride(in[6]), dilation(in[7]);
  const int64_t groups = in[8].toInt();
  TORCH_CHECK(IsPlainFloat(input) && input.dim() == 4 && IsWeight(weight) && input.size(1) == weight.size(1) * groups,
              "not the convolution that the weight was packed for");
  TORCH_CHECK(padding.held.size() == 2 && stride.held.size() == 2 && dilation.held.size() == 2,
              "a convolution of images has two of each setting");
  std::string_view activation = in[10].toStringRef();
  OptionalText algorithm;
  if (activation == "gelu" || activation == "gelu_tanh") {
    algorithm = activation == "gelu" ? "none" : "tanh";
    activation = "gelu";
  }
  Scalars parameters;
  for (const IValue& parameter : Elements(in[11])) parameters.push_back(at::Scalar(parameter.toDouble()));
  if (in[9].isNone()) {
    *out = pointwise.call(input, weight, bias.held, padding.get(), stride.get(), dilation.get(), groups, activation,
                          parameters, algorithm);
    return;
  }
  TORCH_CHECK(activation == "none", "no activation comes after an addition");
  const at::Tensor& other = in[9].toTensor();
  CheckOther(other, input, weight, padding.held, stride.held, dilation.held);
  if (other.size(2) * other.size(3) == 1) {
    // Whose format LibTorch finds ambiguous.
    at::Tensor result = pointwise.call(input, weight, bias.held, padding.get(), stride.get(), dilation.get(), groups,
                                       activation, parameters, algorithm);
    *out = at::_ops::add__Tensor::call(result, other, 1);
    return;
  }
  *out = pointwise_with_other.call(input, other, weight, bias.held, padding.get(), stride.get(), dilation.get(), groups,
                                   "add", at::Scalar(1), OptionalText(), parameters, algorithm);
}

constexpr NativeEntry kEntries[] = {{"hearth::convolution", Convolution}};

}  // namespace

std::span<const NativeEntry> ConvolutionNatives() { return kEntries; }

}  // namespace hearth::native
