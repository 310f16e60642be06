// A convolution of images, or of volumes, whose weight is known and packed. Those of single pixels are products of
// matrices, which kernels of hearth's own compute for any sizes (kernels/product.h), where the processor has what these
// need; so are those whose products are worth saving (kernels/winograd.h), others on several threads
// (kernels/convolution.h), and depthwise ones also on one (kernels/depthwise.h).
// The rest are planned with oneDNN: its primitives are made for the sizes that are known beforehand, and for others at
// their first call. What it has no good code for is left to kernels of our own too, or goes to LibTorch where the
// processor lacks what these need.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/libraries/packed_weight.h"
#include "jit/libraries/volumes.h"

namespace hearth::libraries {

class PrimitiveTable;
struct PreparedCall;

// Whether all numbers are finite, and their sum, too: that of finite numbers may be none.
bool HasFiniteSum(const at::Tensor& tensor);

// Of volumes, [batch, in, depth, height, width], where this says images, [batch, in, height, width], if the weight has
// a depth. Thread-safe but for Add.
class Convolution : public torch::CustomClassHolder {
 public:
  // `weight`: [out, in / groups, height, width], of volumes [out, in / groups, depth, height, width]; float32, plain.
  Convolution(at::Tensor weight, ConvolutionSettings settings);
  ~Convolution() override;

  at::IntArrayRef weight_sizes() const { return weight_sizes_; }
  const ConvolutionSettings& settings() const { return settings_; }

  // In which form the library wants the weight for inputs of these sizes, [batch, in, height, width], on as many
  // threads as the calling thread's operators have. Null where it has no good code for them. As Packed, not once a form
  // of hearth's own kernels was added.
  std::shared_ptr<const WeightForm> FormFor(at::IntArrayRef sizes) const;
  // The weight in such a form.
  at::Tensor Packed(const WeightForm& form) const;
  // The weight in one more form, for inputs of any sizes that the library has code for then; the first is preferred.
  // Hearth's own kernels take inputs of any sizes: once there is a form of theirs, the weight itself is let go.
  void Add(PackedWeight packed);
  size_t forms() const;

  // Makes what calls with such inputs need.
  void Prepare(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const;
  bool IsPrepared(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const;

  // `input`: [batch, in, height, width]; `bias`: [out], or null. The result lies channels-last, in new memory, or, if
  // the epilogue adds, in that of `onto`, which has the result's sizes, lies so and has nothing in common with the
  // input. Throws c10::Error, before anything is written, if an operand is not of that kind.
  at::Tensor Run(const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue) const;
  void RunOnto(at::Tensor& onto, const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue) const;

  // As the constant operand of a node, and back; null if it is no such thing.
  static c10::IValue Wrap(c10::intrusive_ptr<Convolution> convolution);
  static const Convolution* Unwrap(const c10::IValue& value);

 private:
  std::vector<int64_t> ResultSizes(at::IntArrayRef input) const;
  std::shared_ptr<const PreparedCall> Prepared(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const;
  std::optional<PreparedCall> Make(at::IntArrayRef sizes, bool has_bias, std::string_view epilogue) const;
  void Check(const at::Tensor& input, const at::Tensor* bias) const;
  // The weight as a kernel of hearth's own takes it; null where none computes inputs of these sizes.
  const PackedWeight* Own(at::IntArrayRef sizes) const;
  void ComputeOwn(const PackedWeight& packed, const at::Tensor& input, const at::Tensor* bias,
                  const KernelEpilogue& following, at::Tensor& result) const;
  void RunOwn(const PackedWeight& packed, const at::Tensor& input, const at::Tensor* bias, std::string_view epilogue,
              at::Tensor& result) const;
  void Compute(const PreparedCall& prepared, const at::Tensor& input, const at::Tensor* bias, at::Tensor& result) const;
  at::Tensor RunByLibTorch(const at::Tensor& input, const at::Tensor* bias) const;

  at::Tensor weight_;  // undefined once it was let go
  const std::vector<int64_t> weight_sizes_;
  const ConvolutionSettings settings_;
  // Of volumes that are images: how, and the convolution of these, which computes all.
  const std::optional<VolumesAsImages> as_images_;
  std::unique_ptr<Convolution> of_images_;
  std::vector<PackedWeight> packed_;
  const std::unique_ptr<PrimitiveTable> primitives_;
};

}  // namespace hearth::libraries
