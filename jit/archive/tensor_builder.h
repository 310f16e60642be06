// Makes tensors over storages that were read from a file, checking what LibTorch takes on trust: that every element
// that sizes, strides and offset can reach lies in the storage, that quantizer parameters fit, that indices of sparse
// tensors are within bounds. What does not fit is an ArchiveError (or a c10::Error from LibTorch's own checks).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/QScheme.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>
#include <c10/util/ArrayRef.h>

namespace hearth {

struct TensorGeometry {
  int64_t offset = 0;
  c10::IntArrayRef sizes;
  c10::IntArrayRef strides;
};

// A strided tensor on the storage's device.
at::Tensor MakeTensor(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry);

// A tensor without data, for storages that were on the device "meta" when saved, or whose bytes were left out.
at::Tensor MakeMetaTensor(c10::ScalarType dtype, const TensorGeometry& geometry);

at::Tensor MakePerTensorQuantized(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry,
                                  double scale, int64_t zero_point);

// `scheme` is one of the per-channel schemes.
at::Tensor MakePerChannelQuantized(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry,
                                   c10::QScheme scheme, const at::Tensor& scales, const at::Tensor& zero_points,
                                   int64_t axis);

at::Tensor MakeSparseCoo(c10::IntArrayRef sizes, const at::Tensor& indices, const at::Tensor& values);
at::Tensor MakeSparseCsr(c10::IntArrayRef sizes, const at::Tensor& crow_indices, const at::Tensor& col_indices,
                         const at::Tensor& values);

}  // namespace hearth
