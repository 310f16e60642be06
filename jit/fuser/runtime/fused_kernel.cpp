#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/fuser/runtime/id_check.h"
#include "jit/support/parallel_for.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <bit>

namespace hearth::fuser {
namespace {

using Numbers = c10::SmallVector<int64_t, 16>;

// About as long a scalar operation takes, among others in a vector.
constexpr double kNanosecondsOfWork = 0.1;

int64_t SizeOf(int16_t extent, const Numbers& extents) { return extent == KernelSignature::kOne ? 1 : extents[extent]; }

// The strides of a dense tensor of these sizes.
void StridesOf(const KernelSignature::Tensor& tensor, const Numbers& sizes, Numbers& strides) {
  strides.assign(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = tensor.nesting.size(); i-- > 0;) {
    const size_t dimension = tensor.nesting[i];
    strides[dimension] = stride;
    stride *= std::max<int64_t>(sizes[dimension], 1);
  }
}

const at::Tensor& TensorAt(std::span<const c10::IValue* const> operands, const KernelSignature::Input& input) {
  TORCH_CHECK(input.operand < operands.size() && operands[input.operand]->isTensor(), "operand ", input.operand,
              " of a fused kernel is no tensor");
  return operands[input.operand]->toTensor();
}

void Check(const at::Tensor& tensor, const KernelSignature::Tensor& expected, c10::Device device, size_t operand,
           const Numbers& extents) {
  TORCH_CHECK(tensor.scalar_type() == expected.dtype, "operand ", operand, " of a fused kernel is ",
              tensor.scalar_type(), ", expected ", expected.dtype);
  TORCH_CHECK(tensor.layout() == c10::kStrided && tensor.device() == device && !tensor.is_neg() && !tensor.is_conj(),
              "operand ", operand, " of a fused kernel is no plain tensor of ", device);
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  int64_t stride = 1;
  bool has_gap = false;
  for (size_t i = expected.nesting.size(); i-- > 0;) {
    const size_t dimension = expected.nesting[i];
    TORCH_CHECK(sizes[dimension] == SizeOf(expected.extents[dimension], extents), "operand ", operand,
                " of a fused kernel has sizes ", sizes, ", of which number ", dimension, " is another one");
    const int64_t asked = expected.strides.empty() ? KernelSignature::kNoGap : expected.strides[i];
    has_gap |= asked != KernelSignature::kNoGap;
    if (sizes[dimension] <= 1) continue;
    const bool is_asked = asked <= 0 || strides[dimension] == asked;
    const bool fits = is_asked && (has_gap ? strides[dimension] >= stride : strides[dimension] == stride);
    TORCH_CHECK(fits || tensor.numel() == 0, "operand ", operand, " of a fused kernel has sizes ", sizes,
                " and strides ", strides, ", which is another layout");
    stride = strides[dimension] * sizes[dimension];
    has_gap = false;
  }
}

// From its first element to its last one.
int64_t ElementsSpanned(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return tensor.numel() == 0 ? 0 : last + 1;
}

// Whether its allocator, which knows of no other, would take memory of this device.
bool IsCurrent(c10::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getDevice() == device; }

at::Tensor Make(at::ScalarType dtype, c10::Device device, const Numbers& sizes, const Numbers& strides) {
  if (device.is_cpu()) return at::detail::empty_strided_cpu(sizes, strides, dtype, /*pin_memory=*/false);
  // LibTorch's operator takes longer than the kernel's launch.
  if (!IsCurrent(device)) return at::empty_strided(sizes, strides, at::TensorOptions(dtype).device(device));
  return at::Tensor(at::detail::empty_strided_generic(sizes, strides, c10::GetAllocator(device.type()),
                                                      c10::DispatchKeySet(c10::DispatchKey::CUDA), dtype));
}

at::Tensor Make(const KernelSignature::Tensor& like, c10::Device device, const Numbers& extents) {
  Numbers sizes, strides;
  for (const int16_t extent : like.extents) sizes.push_back(SizeOf(extent, extents));
  StridesOf(like, sizes, strides);
  return Make(like.dtype, device, sizes, strides);
}

void RunLoop(LoopFunction loop, void* const* buffers, const int64_t* symbols, int64_t rounds, int64_t work,
             int64_t scratch_bytes) {
  const auto run = [&](int64_t begin, int64_t end) {
    const at::DataPtr scratch =
        scratch_bytes == 0 ? at::DataPtr() : c10::GetCPUAllocator()->allocate(static_cast<size_t>(scratch_bytes));
    loop(buffers, symbols, begin, end, scratch.get());
  };
  ParallelFor(rounds, kNanosecondsOfWork * static_cast<double>(std::max<int64_t>(work, 1)), run);
}

}  // namespace

void FusedKernel::Run(std::span<const c10::IValue* const> operands, c10::IValue* results) const {
  TORCH_CHECK(!code_->set_aside.load(std::memory_order_relaxed), "a fused kernel was set aside for wrong results");
  Numbers extents;
  for (const KernelSignature::Extent& extent : signature_.extents) {
    if (extent.input == KernelSignature::kNoInput) {
      extents.push_back(extent.size);
      continue;
    }
    const KernelSignature::Input& input = signature_.inputs[extent.input];
    const at::Tensor& tensor = TensorAt(operands, input);
    TORCH_CHECK(tensor.dim() == static_cast<int64_t>(input.tensor.extents.size()), "operand ", input.operand,
                " of a fused kernel has ", tensor.dim(), " dimensions, expected ", input.tensor.extents.size());
    const int64_t size = tensor.sizes()[extent.dimension];
    TORCH_CHECK(extent.size == KernelSignature::kAnySize || size == extent.size, "operand ", input.operand,
                " of a fused kernel has ", size, " elements along dimension ", extent.dimension, ", expected ",
                extent.size);
    extents.push_back(size);
  }
  const c10::Device device = code_->on_gpu != nullptr ? code_->on_gpu->device() : c10::Device(c10::kCPU);
  c10::SmallVector<void*, 16> buffers;
  bool is_wide = false;
  for (const KernelSignature::Input& input : signature_.inputs) {
    const at::Tensor& tensor = TensorAt(operands, input);
    TORCH_CHECK(tensor.dim() == static_cast<int64_t>(input.tensor.extents.size()), "operand ", input.operand,
                " of a fused kernel has ", tensor.dim(), " dimensions, expected ", input.tensor.extents.size());
    Check(tensor, input.tensor, device, input.operand, extents);
    buffers.push_back(const_cast<void*>(tensor.const_data_ptr()));
    is_wide |= ElementsSpanned(tensor) > kMostNarrowElements;
  }
  for (const KernelSignature::Ids& ids : signature_.ids) {
    const at::Tensor& tensor = TensorAt(operands, signature_.inputs[ids.tensor]);
    CheckIds(TensorAt(operands, signature_.inputs[ids.ids]), tensor.size(ids.dimension), ids.from_end);
  }
  Numbers symbols;
  for (const KernelSignature::Symbol& symbol : signature_.symbols) {
    switch (symbol.kind) {
      case KernelSignature::Symbol::Kind::kProduct: {
        int64_t product = 1;
        for (const uint16_t extent : symbol.extents) product *= extents[extent];
        symbols.push_back(product);
        break;
      }
      case KernelSignature::Symbol::Kind::kInteger:
        symbols.push_back(operands[symbol.operand]->toInt());
        break;
      case KernelSignature::Symbol::Kind::kStride:
        symbols.push_back(operands[symbol.operand]->toTensor().stride(symbol.dimension));
        break;
      case KernelSignature::Symbol::Kind::kReal:
        symbols.push_back(std::bit_cast<int64_t>(operands[symbol.operand]->toDouble()));
        break;
    }
  }
  c10::SmallVector<at::Tensor, 4> made;
  for (const KernelSignature::Tensor& output : signature_.outputs) {
    made.push_back(Make(output, device, extents));
    buffers.push_back(made.back().mutable_data_ptr());
    is_wide |= made.back().numel() > kMostNarrowElements;
  }
  for (const KernelSignature::Scratch& scratch : signature_.scratch) {
    made.push_back(Make(scratch.dtype, device, {scratch.elements}, {1}));
    buffers.push_back(made.back().mutable_data_ptr());
    is_wide |= scratch.elements > kMostNarrowElements;
  }
  const size_t num_loops = code_->on_gpu != nullptr ? code_->on_gpu->num_loops() : code_->loops.size();
  Numbers sizes(kSizesPerLoop * num_loops);
  code_->sizes(symbols.data(), sizes.data());
  for (size_t i = 0; i < num_loops; ++i) {
    const int64_t* of_loop = &sizes[kSizesPerLoop * i];
    if (code_->on_gpu != nullptr) {
      code_->on_gpu->RunLoop(i, buffers, symbols, of_loop[0], of_loop[2], is_wide);
    } else {
      RunLoop(code_->loops[i], buffers.data(), symbols.data(), of_loop[0], of_loop[1], of_loop[2]);
    }
  }
  // An output may be the register of an operand, so not before the last read.
  for (size_t i = 0; i < signature_.outputs.size(); ++i) results[i] = std::move(made[i]);
}

const FusedKernel& FusedKernel::Of(std::span<const c10::IValue* const> operands) {
  const FusedKernel* kernel = operands.empty() ? nullptr : Unwrap(*operands[0]);
  TORCH_CHECK(kernel != nullptr, "expected a fused kernel, found ",
              operands.empty() ? "nothing" : operands[0]->tagKind());
  return *kernel;
}

c10::IValue FusedKernel::Wrap(c10::intrusive_ptr<FusedKernel> kernel) {
  return c10::IValue::make_capsule(std::move(kernel));
}

const FusedKernel* FusedKernel::Unwrap(const c10::IValue& value) {
  if (!value.isCapsule()) return nullptr;
  return dynamic_cast<const FusedKernel*>(value.toCapsule().get());
}

}  // namespace hearth::fuser
