#include "jit/archive/tensor_builder.h"

#include <ATen/ops/_empty_affine_quantized.h>
#include <ATen/ops/_empty_per_channel_affine_quantized.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/_validate_sparse_csr_tensor_args.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/sparse_csr_tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorOptions.h>

#include <limits>
#include <string>
#include <vector>

#include "jit/support/errors.h"

namespace hearth {
namespace {

// Operators refuse more than 64 themselves, each in its own words.
constexpr size_t kMaxDimensions = 1000;

std::string Text(c10::IntArrayRef numbers) {
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); ++i) out += (i ? ", " : "") + std::to_string(numbers[i]);
  return out + "]";
}

std::string Text(const TensorGeometry& geometry) {
  return "sizes " + Text(geometry.sizes) + ", strides " + Text(geometry.strides) + ", offset " +
         std::to_string(geometry.offset);
}

[[noreturn]] void FailGeometry(const TensorGeometry& geometry, const std::string& what) {
  throw ArchiveError("a tensor with " + Text(geometry) + " " + what);
}

// The number of elements of the storage that the tensor spans from the storage's start; 0 if it has none. Also makes
// sure that the number of elements can be counted.
int64_t ElementsReached(const TensorGeometry& geometry) {
  if (geometry.sizes.size() != geometry.strides.size())
    FailGeometry(geometry, "has another number of strides than of sizes");
  if (geometry.sizes.size() > kMaxDimensions) throw ArchiveError("a tensor has more than 1000 dimensions");
  if (geometry.offset < 0) FailGeometry(geometry, "begins before its storage");
  int64_t count = 1;
  int64_t last = geometry.offset;
  bool empty = false;
  bool overflow = false;
  for (size_t i = 0; i < geometry.sizes.size(); ++i) {
    const int64_t size = geometry.sizes[i];
    const int64_t stride = geometry.strides[i];
    if (size < 0) FailGeometry(geometry, "has a negative size");
    if (stride < 0) FailGeometry(geometry, "has a negative stride");
    if (size == 0) {
      empty = true;
      continue;
    }
    int64_t span = 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
    overflow |= __builtin_mul_overflow(size - 1, stride, &span);
    overflow |= __builtin_add_overflow(last, span, &last);
  }
  if (overflow || last == std::numeric_limits<int64_t>::max()) FailGeometry(geometry, "has too many elements to count");
  return empty ? 0 : last + 1;
}

int64_t ElementsPerByte(c10::ScalarType dtype) {
  if (dtype == c10::ScalarType::QUInt4x2) return 2;
  if (dtype == c10::ScalarType::QUInt2x4) return 4;
  return 1;
}

void CheckReach(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry) {
  const int64_t reached = ElementsReached(geometry);
  const int64_t per_byte = ElementsPerByte(dtype);
  const int64_t units = per_byte == 1 ? reached : (reached - 1) / per_byte + 1;
  const int64_t available = static_cast<int64_t>(storage.nbytes() / c10::elementSize(dtype));
  if (reached > 0 && units > available) {
    FailGeometry(geometry, "reaches past its storage of " + std::to_string(available * per_byte) + " elements of " +
                               c10::toString(dtype));
  }
}

void SetGeometry(const at::Tensor& tensor, const TensorGeometry& geometry) {
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(geometry.sizes, geometry.strides, geometry.offset);
}

// A small storage can be expanded to a tensor of any size by strides of zero; whoever walks such a tensor, or makes it
// contiguous, would be at it for ever.
void CheckNotExpanded(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || !tensor.has_storage() || tensor.nbytes() > tensor.storage().nbytes()) {
    throw ArchiveError("a part of a sparse or quantized tensor has no data of its own for each element");
  }
}

void CheckQuantized(c10::ScalarType dtype) {
  if (!c10::isQIntType(dtype)) {
    throw ArchiveError(std::string("a quantized tensor has elements of type ") + c10::toString(dtype));
  }
}

}  // namespace

at::Tensor MakeTensor(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry) {
  CheckReach(storage, dtype, geometry);
  if (c10::isQIntType(dtype)) throw ArchiveError("a quantized tensor has no quantizer");
  const c10::DispatchKey key = c10::computeDispatchKey(dtype, c10::kStrided, storage.device());
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(key),
                                                               c10::scalarTypeToTypeMeta(dtype));
  SetGeometry(tensor, geometry);
  return tensor;
}

at::Tensor MakeMetaTensor(c10::ScalarType dtype, const TensorGeometry& geometry) {
  const int64_t reached = ElementsReached(geometry);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(reached, static_cast<int64_t>(c10::elementSize(dtype)), &bytes)) {
    FailGeometry(geometry, "has too many bytes to count");
  }
  // The offset is left out: nothing lies behind it.
  return at::empty_strided(geometry.sizes, geometry.strides, at::TensorOptions(dtype).device(c10::kMeta));
}

at::Tensor MakePerTensorQuantized(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry,
                                  double scale, int64_t zero_point) {
  CheckQuantized(dtype);
  CheckReach(storage, dtype, geometry);
  at::Tensor tensor =
      at::_empty_affine_quantized({0}, at::TensorOptions(dtype).device(storage.device()), scale, zero_point);
  tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  SetGeometry(tensor, geometry);
  return tensor;
}

at::Tensor MakePerChannelQuantized(const c10::Storage& storage, c10::ScalarType dtype, const TensorGeometry& geometry,
                                   c10::QScheme scheme, const at::Tensor& scales, const at::Tensor& zero_points,
                                   int64_t axis) {
  CheckQuantized(dtype);
  CheckReach(storage, dtype, geometry);
  if (axis < 0 || axis >= static_cast<int64_t>(geometry.sizes.size())) {
    FailGeometry(geometry, "is quantized along axis " + std::to_string(axis) + ", which it has not");
  }
  const int64_t channels = geometry.sizes[static_cast<size_t>(axis)];
  if (!scales.defined() || !zero_points.defined() || scales.dim() != 1 || zero_points.dim() != 1 ||
      scales.size(0) != channels || zero_points.size(0) != channels) {
    FailGeometry(geometry, "has quantizer parameters for another number of channels");
  }
  const bool float_parameters = scheme == c10::kPerChannelAffineFloatQParams;
  if (scales.scalar_type() != (float_parameters ? c10::kFloat : c10::kDouble) ||
      zero_points.scalar_type() != (float_parameters ? c10::kFloat : c10::kLong)) {
    FailGeometry(geometry, "has quantizer parameters of a wrong type");
  }
  CheckNotExpanded(scales);
  CheckNotExpanded(zero_points);
  // No memory is wanted for the elements, so every size is zero that may be.
  std::vector<int64_t> no_sizes(geometry.sizes.size(), 0);
  no_sizes[static_cast<size_t>(axis)] = channels;
  at::Tensor tensor = at::_empty_per_channel_affine_quantized(no_sizes, scales, zero_points, axis,
                                                              at::TensorOptions(dtype).device(storage.device()));
  tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  SetGeometry(tensor, geometry);
  return tensor;
}

at::Tensor MakeSparseCoo(c10::IntArrayRef sizes, const at::Tensor& indices, const at::Tensor& values) {
  CheckNotExpanded(indices);
  CheckNotExpanded(values);
  at::_validate_sparse_coo_tensor_args(indices, values, sizes);
  return at::sparse_coo_tensor(indices, values, sizes);
}

at::Tensor MakeSparseCsr(c10::IntArrayRef sizes, const at::Tensor& crow_indices, const at::Tensor& col_indices,
                         const at::Tensor& values) {
  CheckNotExpanded(crow_indices);
  CheckNotExpanded(col_indices);
  CheckNotExpanded(values);
  at::_validate_sparse_csr_tensor_args(crow_indices, col_indices, values, sizes);
  return at::sparse_csr_tensor(crow_indices, col_indices, values, sizes, values.options().layout(at::kSparseCsr));
}

}  // namespace hearth
