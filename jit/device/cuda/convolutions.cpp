#include "jit/device/cuda/convolutions.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/cudnn/Handle.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "jit/device/choice_table.h"
#include "jit/device/cuda/convolution_plan.h"
#include "jit/device/cuda/idle_thread.h"
#include "jit/device/cuda/of_each_gpu.h"
#include "jit/device/cuda/plain_on.h"
#include "jit/device/cuda/timed_convolution.h"

namespace hearth {
namespace {

constexpr uint64_t kAlignment = 16;  // of addresses, as plans take them

std::array<int64_t, 4> SizesOf(const at::Tensor& images) {
  const c10::IntArrayRef sizes = images.sizes();
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

bool IsAligned(const at::Tensor& tensor) {
  return reinterpret_cast<uint64_t>(tensor.const_data_ptr()) % kAlignment == 0;
}

// What is run for a key. Neither it nor the plans that it ever had are freed.
struct Chosen {
  explicit Chosen(const ConvolutionPlan* first) : plan(first) {}
  std::atomic<const ConvolutionPlan*> plan;
  std::atomic<bool> is_queued = false;  // for the thread that finds the fastest
};

class CudnnConvolutions final : public GpuConvolutions {
 public:
  explicit CudnnConvolutions(c10::DeviceIndex device) : device_(c10::kCUDA, device), tuner_(device) {}

  at::Tensor Convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
                      const at::Tensor* addend, const ConvolutionSettings& settings) const override {
    if (c10::cuda::current_device() != device_.index() || !MayAsk(input, weight, settings)) return {};
    const at::MemoryFormat format = FormatOf(input, weight);
    if (format != at::MemoryFormat::ChannelsLast) {
      const bool is_bare = bias == nullptr && addend == nullptr && !settings.has_relu;
      if (!is_bare || (settings.groups != 1 && weight.scalar_type() != c10::kHalf)) return {};
    }
    // As LibTorch does, in each call.
    const at::Tensor images = input.contiguous(format), filters = weight.contiguous(format);
    const std::optional<ConvolutionKey> key = KeyOf(images, filters, format, bias, addend, settings);
    if (!key) return {};
    const ConvolutionPlan* plan = PlanFor(*key, settings.waits_for_best);
    if (plan == nullptr || plan->plan == nullptr) return {};

    c10::Allocator* const allocator = c10::cuda::CUDACachingAllocator::get();
    at::Tensor result(at::detail::empty_generic(key->result, allocator, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                weight.scalar_type(), format));
    const at::DataPtr workspace =
        plan->workspace_bytes > 0 ? allocator->allocate(plan->workspace_bytes) : at::DataPtr();
    RunConvolution(at::native::getCudnnHandle(), *plan,
                   {.input = images.const_data_ptr(),
                    .weight = filters.const_data_ptr(),
                    .bias = bias != nullptr ? bias->const_data_ptr() : nullptr,
                    .addend = addend != nullptr ? addend->const_data_ptr() : nullptr,
                    .result = result.mutable_data_ptr(),
                    .workspace = workspace.get()});
    return result;
  }

  void StopTuning() { tuner_.Stop(); }

 private:
  // Whether the library may be asked at all.
  bool MayAsk(const at::Tensor& input, const at::Tensor& weight, const ConvolutionSettings& settings) const {
    const c10::ScalarType dtype = weight.scalar_type();
    if (dtype != c10::kHalf && dtype != c10::kBFloat16 && dtype != c10::kFloat) return false;
    const at::Context& context = at::globalContext();
    if (!context.userEnabledCuDNN() || context.benchmarkCuDNN()) return false;
    if (input.dim() != 4 || weight.dim() != 4 || input.numel() == 0 || weight.numel() == 0) return false;
    if (!IsPlainOn(input, device_, dtype) || !IsPlainOn(weight, device_, dtype)) return false;
    return settings.groups >= 1 && input.sizes()[1] == weight.sizes()[1] * settings.groups &&
           weight.sizes()[0] % settings.groups == 0;
  }

  // The one that LibTorch gives the result.
  static at::MemoryFormat FormatOf(const at::Tensor& input, const at::Tensor& weight) {
    constexpr auto kLast = at::MemoryFormat::ChannelsLast;
    return input.suggest_memory_format() == kLast || weight.suggest_memory_format() == kLast
               ? kLast
               : at::MemoryFormat::Contiguous;
  }

  // Null where the library is not asked. Images and filters are in the format.
  std::optional<ConvolutionKey> KeyOf(const at::Tensor& images, const at::Tensor& filters, at::MemoryFormat format,
                                      const at::Tensor* bias, const at::Tensor* addend,
                                      const ConvolutionSettings& settings) const {
    const c10::ScalarType dtype = filters.scalar_type();
    ConvolutionKey key{.input = SizesOf(images),
                       .weight = SizesOf(filters),
                       .stride = settings.stride,
                       .padding = settings.padding,
                       .dilation = settings.dilation,
                       .dtype = static_cast<int8_t>(dtype),
                       .is_channels_last = format == at::MemoryFormat::ChannelsLast,
                       .has_bias = bias != nullptr,
                       .has_addend = addend != nullptr,
                       .has_relu = settings.has_relu,
                       .rounds = dtype == c10::kFloat && settings.allows_tf32 && at::globalContext().allowTF32CuDNN()};
    if (!IsAligned(images) || !IsAligned(filters)) return {};
    key.result = {key.input[0], key.weight[0]};
    for (size_t i = 0; i < 2; ++i) {
      if (settings.stride[i] < 1 || settings.dilation[i] < 1 || settings.padding[i] < 0) return {};
      const int64_t span = settings.dilation[i] * (key.weight[i + 2] - 1) + 1;
      const int64_t steps = key.input[i + 2] + 2 * settings.padding[i] - span;
      if (steps < 0) return {};
      key.result[i + 2] = steps / settings.stride[i] + 1;
    }
    if (bias != nullptr && (!IsPlainOn(*bias, device_, dtype) || !IsAligned(*bias) || !bias->is_contiguous() ||
                            bias->dim() != 1 || bias->sizes()[0] != key.weight[0])) {
      return {};
    }
    if (addend != nullptr && (!IsPlainOn(*addend, device_, dtype) || !IsAligned(*addend) || addend->dim() != 4 ||
                              SizesOf(*addend) != key.result || !addend->is_contiguous(format))) {
      return {};
    }
    return key;
  }

  // Null where there is no room to keep it.
  const ConvolutionPlan* PlanFor(const ConvolutionKey& key, bool waits_for_best) const {
    Chosen* chosen = Find(key);
    if (chosen == nullptr) {
      // One thread at a time, so that none plans what another does.
      const std::lock_guard lock(planning_);
      chosen = Find(key);
      if (chosen == nullptr) {
        auto made = std::make_unique<Chosen>(new ConvolutionPlan(PlanConvolution(at::native::getCudnnHandle(), key)));
        if (!chosen_.Add(key, made.get())) {
          const std::unique_ptr<const ConvolutionPlan> plan(made->plan.load(std::memory_order_relaxed));
          Free(*plan);
          return nullptr;
        }
        chosen = made.release();
      }
    } else if (!chosen->plan.load(std::memory_order_relaxed)->is_best &&
               !chosen->is_queued.exchange(true, std::memory_order_relaxed)) {
      tuner_.Add([this, key, chosen] { Tune(key, *chosen); });
    }
    if (waits_for_best) Tune(key, *chosen);
    return chosen->plan.load(std::memory_order_acquire);
  }

  // Finds the fastest, on the thread's current stream.
  void Tune(const ConvolutionKey& key, Chosen& chosen) const {
    const std::lock_guard lock(tuning_);
    const ConvolutionPlan* before = chosen.plan.load(std::memory_order_relaxed);
    if (before->is_best || before->plan == nullptr) return;
    auto plan = std::make_unique<ConvolutionPlan>();
    try {
      cudnnHandle_t handle = at::native::getCudnnHandle();
      const TimedConvolution timed(key, device_, handle);
      float fastest = std::numeric_limits<float>::infinity();
      *plan = FindFastest(handle, key, [&](const ConvolutionPlan& each) {
        const float time = timed.Time(each);
        fastest = std::min(fastest, time);
        return time;
      });
      // Not for a little: LibTorch keeps what it plans for each thread.
      constexpr float kWorthIt = 0.9F;
      if (!key.has_addend && !key.has_relu && timed.TimeOfLibTorch() < kWorthIt * fastest) {
        Free(*plan);
        chosen.plan.store(new ConvolutionPlan{.is_best = true}, std::memory_order_release);
        return;
      }
    } catch (const c10::OutOfMemoryError&) {
      // The models have the memory.
    }
    if (plan->plan == nullptr) *plan = {before->plan, before->workspace_bytes, /*is_best=*/true};
    // The one before stays: another thread may be about to run it.
    chosen.plan.store(plan.release(), std::memory_order_release);
  }

  Chosen* Find(const ConvolutionKey& key) const {
    Chosen* const* found = chosen_.Find(key);
    return found != nullptr ? *found : nullptr;
  }

  const c10::Device device_;
  mutable std::mutex planning_, tuning_;
  mutable ChoiceTable<ConvolutionKey, Chosen*, HashOf> chosen_;
  mutable IdleThread tuner_;
};

}  // namespace

GpuConvolutions* ConvolutionsOfGpu(c10::DeviceIndex device) { return &OfGpu<CudnnConvolutions>(device); }

void StopTuning(c10::DeviceIndex device) { OfGpu<CudnnConvolutions>(device).StopTuning(); }

}  // namespace hearth
