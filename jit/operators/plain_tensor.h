// Whether an operator on a tensor would come to nothing but LibTorch's CPU kernel, so that code of ours may stand for
// the dispatcher and the kernel.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::native {

// A difference of DispatchKeySets would keep the backends' bits.
inline bool IsWithin(c10::DispatchKeySet keys, c10::DispatchKeySet allowed) {
  return (keys.raw_repr() & ~allowed.raw_repr()) == 0;
}

// A strided CPU tensor of float32 that no gradient is recorded for.
inline bool IsPlainFloat(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet kPlain = c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::AutocastCPU}) |
                                         c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  if (!tensor.defined() || !IsWithin(tensor.key_set(), kPlain)) return false;
  if (tensor.scalar_type() != at::kFloat || !tensor.is_cpu()) return false;
  return !(tensor.requires_grad() && c10::GradMode::is_enabled());
}

// As LibTorch makes them: a size of 0 counts as one of 1.
inline bool HasDefaultStrides(const at::Tensor& tensor) {
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (strides[i] != stride) return false;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return true;
}

inline at::Tensor NewFloats(c10::IntArrayRef sizes, at::MemoryFormat format) {
  return at::Tensor(at::detail::empty_cpu(sizes, at::kFloat, std::nullopt, std::nullopt, std::nullopt, format));
}

// The dimensions of more than one element, as they are nested in memory, the outermost first.
inline std::vector<size_t> NestingOf(const at::Tensor& tensor) {
  std::vector<size_t> dimensions;
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    if (tensor.sizes()[i] != 1) dimensions.push_back(i);
  }
  std::ranges::stable_sort(dimensions, std::greater(), [&](size_t i) { return tensor.strides()[i]; });
  return dimensions;
}

inline bool NoModeSeesOperators(c10::DispatchKey autocast = c10::DispatchKey::AutocastCPU) {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  return IsWithin(keys.included_, c10::default_included_set) && keys.excluded_.has(autocast);
}

// Whether a kernel of hearth's own may compute what an operator does: this processor has vectors, and no mode of
// LibTorch's wants to see operators.
inline bool KernelsMayStandIn() { return kernels::HasVectors() && NoModeSeesOperators(); }

}  // namespace hearth::native
