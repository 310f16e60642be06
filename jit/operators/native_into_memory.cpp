// Operators that write their result where they are told, called through LibTorch's unboxed entry points: what plans
// call where the result has a place (jit/passes/plan_memory.h). Arithmetic is in native_small_tensor.cpp, and
// concatenation in native_concatenation.cpp.
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/tanh_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"

namespace hearth::native {
namespace {

constexpr NativeEntry kEntries[] = {
    EntryOf<at::_ops::maximum_out>(),  EntryOf<at::_ops::minimum_out>(),    EntryOf<at::_ops::sigmoid_out>(),
    EntryOf<at::_ops::tanh_out>(),     EntryOf<at::_ops::exp_out>(),        EntryOf<at::_ops::log_out>(),
    EntryOf<at::_ops::neg_out>(),      EntryOf<at::_ops::sqrt_out>(),       EntryOf<at::_ops::rsqrt_out>(),
    EntryOf<at::_ops::silu_out>(),     EntryOf<at::_ops::gelu_out>(),       EntryOf<at::_ops::clamp_out>(),
    EntryOf<at::_ops::hardtanh_out>(), EntryOf<at::_ops::leaky_relu_out>(), EntryOf<at::_ops::elu_out>(),
};

}  // namespace

std::span<const NativeEntry> IntoMemoryNatives() { return kEntries; }

}  // namespace hearth::native
