// Products of plain float tensors right through the BLAS that LibTorch brings, or by a kernel of hearth's own
// (kernels/strided_product.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string_view>

namespace hearth::native {

// Whether LibTorch's answer to linear(input, weight, bias) would come of a plain product of two matrices.
bool IsPlainProduct(const c10::IValue& input, const c10::IValue& weight, const c10::IValue& bias);

// Whether one thread has such a product done before others have woken: it is not shared.
constexpr int64_t kFewProducts = int64_t{1} << 21;  // of numbers: some 60 µs
constexpr bool IsSmallProduct(int64_t rows, int64_t inner, int64_t columns) {
  return rows * inner * columns <= kFewProducts;
}

// Whether oneDNN may have it done faster, if its second matrix was packed beforehand (libraries/product.h).
constexpr bool IsWorthPacking(int64_t rows, int64_t inner, int64_t columns) {
  constexpr int64_t kManyProducts = int64_t{1} << 20;  // of numbers
  return rows * inner * columns >= kManyProducts;
}

// Of what IsPlainProduct holds of; LibTorch's own result, which asks the same of the same BLAS. In `memory` if that is
// a tensor as the result is, else in a new one.
at::Tensor PlainProduct(const at::Tensor& x, const at::Tensor& w, const c10::IValue& bias,
                        const at::Tensor* memory = nullptr);

// A tensor for a result: `memory` if it is plain, of such sizes and default strides, or a new one.
at::Tensor InMemory(c10::IntArrayRef sizes, const at::Tensor* memory);
// The same for the result of such a product.
at::Tensor ProductMemory(const at::Tensor& x, const at::Tensor& w, const at::Tensor* memory);

// matmul of matrices, or of batches of as many, that may be transposed or parts of others, into `memory`. Does nothing
// and returns false where these are not plain float tensors, BLAS is to multiply them and cannot take them as they lie,
// or the memory is not that of a result. Denormal numbers are read as zero.
bool MultiplyInto(const c10::IValue& a, const c10::IValue& b, const at::Tensor& memory);

// Of matrices of one batch, from the left: weight [rows, inner] times each x [inner, columns], with bias [rows] added
// to each column, or none, and an activation of hearth's own kernels (libraries/packed_weight.h). In `memory` as
// PlainProduct. Undefined, and nothing is done, where these are not plain float tensors of such sizes or no kernel has
// the epilogue.
at::Tensor PlainLeftProduct(const c10::IValue& weight, const c10::IValue& x, const c10::IValue& bias,
                            std::string_view epilogue, const at::Tensor* memory = nullptr);

}  // namespace hearth::native
