#include "jit/libraries/volumes.h"

namespace hearth::libraries {

std::optional<VolumesAsImages> VolumesAsImages::Of(const at::Tensor& weight, const ConvolutionSettings& settings) {
  if (weight.dim() != 5 || settings.stride.size() != 3 || settings.padding.size() != 3) return {};
  const auto stays = [&](size_t side) {
    return weight.size(static_cast<int64_t>(side) + 2) == 1 && settings.stride[side] == 1 &&
           settings.padding[side] == 0;
  };
  if (stays(0)) return VolumesAsImages(/*of_slices=*/true);
  if (stays(1) && stays(2)) return VolumesAsImages(/*of_slices=*/false);
  return {};
}

at::Tensor VolumesAsImages::WeightOf(const at::Tensor& weight) const { return weight.select(of_slices_ ? 2 : 4, 0); }

ConvolutionSettings VolumesAsImages::SettingsOf(const ConvolutionSettings& settings) const {
  const auto without_one = [&](std::vector<int64_t> numbers) {
    numbers.erase(of_slices_ ? numbers.begin() : numbers.end() - 1);
    return numbers;
  };
  return {without_one(settings.padding), without_one(settings.stride), without_one(settings.dilation), settings.groups};
}

std::vector<int64_t> VolumesAsImages::SizesOf(at::IntArrayRef volumes) const {
  if (of_slices_) return {volumes[0] * volumes[2], volumes[1], volumes[3], volumes[4]};
  return {volumes[0], volumes[1], volumes[2], volumes[3] * volumes[4]};
}

at::Tensor VolumesAsImages::ImagesOf(const at::Tensor& volumes) const {
  const bool lie_so = LieInPixels(volumes);
  const at::Tensor pixels = lie_so ? volumes : volumes.contiguous(at::MemoryFormat::ChannelsLast3d);
  const int64_t pixel = lie_so ? volumes.stride(4) : volumes.size(1);
  const std::vector<int64_t> sizes = SizesOf(volumes.sizes());
  return pixels.as_strided(sizes, {sizes[2] * sizes[3] * pixel, 1, sizes[3] * pixel, pixel});
}

at::Tensor VolumesAsImages::VolumesOf(const at::Tensor& images, at::IntArrayRef sizes) {
  const int64_t row = sizes[4] * sizes[1], slice = sizes[3] * row;
  return images.as_strided(sizes, {sizes[2] * slice, 1, slice, row, sizes[1]});
}

bool LieInPixels(const at::Tensor& tensor) {
  const int64_t last = tensor.dim() - 1;
  int64_t within = tensor.stride(last);
  if (tensor.stride(1) != 1 || within < tensor.size(1)) return false;
  for (int64_t side = last; side >= 2; --side) {
    if (tensor.stride(side) != within) return false;
    within *= tensor.size(side);
  }
  return tensor.size(0) == 1 || tensor.stride(0) == within;
}

}  // namespace hearth::libraries
