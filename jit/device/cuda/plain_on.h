// Whether a library's kernel may read a tensor where it lies.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Device.h>

namespace hearth {

// A strided tensor of this dtype on the device that is nobody's view of conjugates or negatives and that no gradient is
// recorded for.
inline bool IsPlainOn(const at::Tensor& tensor, c10::Device device, c10::ScalarType dtype) {
  return tensor.scalar_type() == dtype && tensor.layout() == c10::kStrided && tensor.device() == device &&
         !tensor.is_conj() && !tensor.is_neg() && !tensor.unsafeGetTensorImpl()->is_python_dispatch() &&
         !(tensor.requires_grad() && at::GradMode::is_enabled());
}

}  // namespace hearth
