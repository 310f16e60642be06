// hearth::convolution, which plans call in the place of a convolution and what follows it, with the call that was
// planned as its second operand (libraries/convolution.h), and hearth::add_convolution, which adds it to a tensor. They
// raise where an operand is not what the plan was made for, before anything is written, so that the baseline does it.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include "jit/libraries/convolution.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/strided_copy.h"

namespace hearth::native {
namespace {

const libraries::Convolution& PlannedOf(const IValue& value) {
  const libraries::Convolution* planned = libraries::Convolution::Unwrap(value);
  TORCH_CHECK(planned != nullptr, "expected a planned convolution, found ", value.tagKind());
  return *planned;
}

bool AreImagesOrVolumes(const at::Tensor& tensor) { return tensor.dim() == 4 || tensor.dim() == 5; }

// Images or volumes as the kernels take them: a copy of those that lie otherwise.
at::Tensor InPixels(const at::Tensor& images) {
  if (!AreImagesOrVolumes(images) || !MayCopy(images) || libraries::LieInPixels(images)) return images;
  return Copied(images, libraries::ChannelsLastFormat(images.sizes().size()));
}

// convolution(Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor
void Convolution(NativeArguments in, IValue* out) {
  *out = PlannedOf(in[1]).Run(InPixels(in[0].toTensor()), OptionalTensorOf(in[2]), in[3].toStringRef());
}

// add_convolution_(Tensor(a!) self, Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor(a!)
void AddConvolutionInPlace(NativeArguments in, IValue* out) {
  at::Tensor onto = in[0].toTensor();
  PlannedOf(in[2]).RunOnto(onto, InPixels(in[1].toTensor()), OptionalTensorOf(in[3]), in[4].toStringRef());
  *out = std::move(onto);
}

// add_convolution(Tensor self, Tensor input, Any planned, Tensor? bias, str epilogue) -> Tensor
void AddConvolution(NativeArguments in, IValue* out) {
  const at::Tensor& self = in[0].toTensor();
  TORCH_CHECK(self.scalar_type() == at::kFloat && self.device().is_cpu() && AreImagesOrVolumes(self),
              "not a tensor that the convolution can be added to");
  at::Tensor onto = at::detail::empty_cpu(self.sizes(), at::kFloat, std::nullopt, std::nullopt, std::nullopt,
                                          libraries::ChannelsLastFormat(self.sizes().size()));
  if (MayCopy(self)) {
    CopyFloats(self, onto);
  } else {
    onto.copy_(self);
  }
  PlannedOf(in[2]).RunOnto(onto, InPixels(in[1].toTensor()), OptionalTensorOf(in[3]), in[4].toStringRef());
  *out = std::move(onto);
}

constexpr NativeEntry kEntries[] = {
    {"hearth::convolution", Convolution},
    {"hearth::add_convolution", AddConvolution},
    {"hearth::add_convolution_", AddConvolutionInPlace},
};

}  // namespace

std::span<const NativeEntry> ConvolutionNatives() { return kEntries; }

}  // namespace hearth::native
