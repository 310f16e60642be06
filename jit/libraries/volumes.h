// Convolutions of volumes, [batch, channels, depth, height, width], that are convolutions of images over the same
// memory, which lies channels-last. Where the kernel is of one slice, each slice of a volume is an image: [batch *
// depth, channels, height, width]. Where it is of single pixels of several slices, each volume is an image, and a slice
// one row of it: [batch, channels, depth, height * width].
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace hearth::libraries {

struct ConvolutionSettings {
  std::vector<int64_t> padding, stride, dilation;  // two of each, of volumes three
  int64_t groups = 1;
  // Behind the last row and column, of images; `padding` is what is before the first. Empty: the same.
  std::vector<int64_t> end_padding = {};

  const std::vector<int64_t>& padding_behind() const { return end_padding.empty() ? padding : end_padding; }
};

class VolumesAsImages {
 public:
  // Nothing of other convolutions of volumes, and of those of images.
  static std::optional<VolumesAsImages> Of(const at::Tensor& weight, const ConvolutionSettings& settings);

  // What the convolution of images has. The weight is a view.
  at::Tensor WeightOf(const at::Tensor& weight) const;
  ConvolutionSettings SettingsOf(const ConvolutionSettings& settings) const;
  std::vector<int64_t> SizesOf(at::IntArrayRef volumes) const;
  // The same memory; of volumes whose pixels do not lie one after another, each with its channels side by side, a copy.
  at::Tensor ImagesOf(const at::Tensor& volumes) const;
  // And back, to volumes of these sizes. The images lie channels-last.
  static at::Tensor VolumesOf(const at::Tensor& images, at::IntArrayRef sizes);

 private:
  explicit VolumesAsImages(bool of_slices) : of_slices_(of_slices) {}

  const bool of_slices_;
};

// Whether the pixels of images or volumes lie one after another, each with its channels side by side, perhaps with
// others between.
bool LieInPixels(const at::Tensor& tensor);

// The channels-last format of images, or of volumes.
inline at::MemoryFormat ChannelsLastFormat(size_t rank) {
  return rank == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

}  // namespace hearth::libraries
