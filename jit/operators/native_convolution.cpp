// hearth::convolution, which plans call in the place of a convolution and the activation after it: weights that were
// packed beforehand, in the format that the library which computes it (oneDNN) likes best, and a result in
// channels-last format. It raises where `input` is not what the plan was made for, so that the baseline does it.
//
// The best format depends on the input's sizes, and one that is best for others may be much worse than none: beside
// `weight`, which is good for all, there may be one that was `packed` for inputs of the sizes `packed_for`.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

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

// Packed, or in the format of the result.
bool IsWeight(const at::Tensor& weight) {
  if (weight.dim() != 4) return false;
  return weight.is_mkldnn() ||
         (IsPlainFloat(weight) && weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
}

// (Tensor input, Tensor weight, Tensor? packed, int[] packed_for, Tensor? bias, int[] padding, int[] stride,
//  int[] dilation, int groups, str activation, float[] parameters) -> Tensor
void Convolution(NativeArguments in, IValue* out) {
  static const auto pointwise =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_convolution_pointwise", "").typed<Pointwise>();
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
  std::string_view activation = in[9].toStringRef();
  OptionalText algorithm;
  if (activation == "gelu" || activation == "gelu_tanh") {
    algorithm = activation == "gelu" ? "none" : "tanh";
    activation = "gelu";
  }
  Scalars parameters;
  for (const IValue& parameter : Elements(in[10])) parameters.push_back(at::Scalar(parameter.toDouble()));
  *out = pointwise.call(input, weight, bias.held, padding.get(), stride.get(), dilation.get(), groups, activation,
                        parameters, algorithm);
}

constexpr NativeEntry kEntries[] = {{"hearth::convolution", Convolution}};

}  // namespace

std::span<const NativeEntry> ConvolutionNatives() { return kEntries; }

}  // namespace hearth::native
