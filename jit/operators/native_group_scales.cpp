// hearth::group_scales, where there is no kernel of it (passes/fuse.h).
#include <ATen/core/Tensor.h>
#include <ATen/ops/var_mean.h>

#include <array>
#include <utility>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

// hearth::group_scales(Tensor images, int groups, Tensor? weight, Tensor? bias, float eps, Tensor? added)
//     -> (Tensor, Tensor)
//
// Factors and offsets of float32 [images, channels, 1, 1]: what a group norm of the images gives is each number times
// the factor, plus the offset, of its image and channel. `added`, of the images' dtype, is for each channel what is
// added to their numbers first; to what the factors multiply, too.
void GroupScales(NativeArguments in, IValue* out) {
  const at::Tensor* const added = OptionalTensorOf(in[5]);
  const at::Tensor& given = in[0].toTensor();
  const at::Tensor images = added == nullptr ? given : given.add(added->reshape({-1, 1, 1}));
  const auto groups = Get<int64_t>(in[1]);
  const at::Tensor *weight = OptionalTensorOf(in[2]), *bias = OptionalTensorOf(in[3]);
  TORCH_CHECK(images.dim() == 4 && groups > 0 && images.size(1) % groups == 0, "not images of ", groups, " groups");
  const int64_t count = images.size(0), channels = images.size(1);
  const int64_t length = channels / groups * images.size(2) * images.size(3);
  const at::Tensor numbers = images.to(at::kFloat).reshape({count, groups, length});
  const auto [variance, mean] = at::var_mean(numbers, at::IntArrayRef{2}, /*correction=*/0, /*keepdim=*/true);
  const auto of_channels = [&](const at::Tensor& of_groups) {
    return of_groups.expand({count, groups, channels / groups}).contiguous().view({count, channels, 1, 1});
  };
  at::Tensor factors = of_channels(variance.add(Get<double>(in[4])).rsqrt());
  if (weight != nullptr) factors.mul_(weight->to(at::kFloat).reshape({channels, 1, 1}));
  at::Tensor offsets = of_channels(mean).mul(factors).neg();
  if (bias != nullptr) offsets.add_(bias->to(at::kFloat).reshape({channels, 1, 1}));
  out[0] = std::move(factors);
  out[1] = std::move(offsets);
}

constexpr NativeEntry kEntries[] = {{"hearth::group_scales", GroupScales}};

}  // namespace

std::span<const NativeEntry> GroupScalesNatives() { return kEntries; }

}  // namespace hearth::native
