// The product of a plain float tensor with a weight, as linear layers have it, right through the BLAS that LibTorch
// brings. The results are LibTorch's own, which asks the same of the same BLAS.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace hearth::native {

// Whether LibTorch's answer to linear(input, weight, bias) would come of a plain product of two matrices.
bool IsPlainProduct(const c10::IValue& input, const c10::IValue& weight, const c10::IValue& bias);

// Of what IsPlainProduct holds of. In `memory` if that is a tensor as the result is, else in a new one.
at::Tensor PlainProduct(const at::Tensor& x, const at::Tensor& w, const c10::IValue& bias,
                        const at::Tensor* memory = nullptr);

}  // namespace hearth::native
