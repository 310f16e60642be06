#include "jit/device/device.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/accumulate.h>
#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "jit/support/memory_account.h"
#include "jit/support/tensors_in.h"

namespace hearth {
namespace {

void OpenCuda(const std::string& name) {
  // In the loader's path already: the program's RPATH names LibTorch's folder.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* reason = dlerror();
    throw std::runtime_error("device " + name +
                             ": LibTorch's CUDA library could not be loaded: " + (reason ? reason : "unknown"));
  }
}

constexpr const char* kUnknown = "is not known; expected cpu, cuda, cuda:N, several GPUs (cuda:0,cuda:2) or cuda:all";

// Of "cuda", which is the first, or "cuda:N".
std::optional<int> GpuOf(const std::string& name) {
  try {
    const c10::Device device(name);
    if (device.is_cuda()) return device.has_index() ? device.index() : 0;
  } catch (const c10::Error&) {
    // Nothing that LibTorch knows, or no number that it could be.
  }
  return std::nullopt;
}

// Whether it holds a tensor that `is_wanted`.
template <typename Predicate>
bool HoldsTensor(const c10::IValue& value, const Predicate& is_wanted) {
  if (value.isTensor()) return value.toTensor().defined() && is_wanted(value.toTensor());
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (HoldsTensor(element, is_wanted)) return true;
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (HoldsTensor(element, is_wanted)) return true;
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (HoldsTensor(entry.key(), is_wanted) || HoldsTensor(entry.value(), is_wanted)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<c10::Device> DevicesOf(const std::string& name, const std::function<int()>& count_gpus) {
  if (name == "cpu") return {c10::Device(c10::kCPU)};
  const auto fail = [&](const std::string& why) { throw std::runtime_error("device \"" + name + "\" " + why); };
  std::vector<int> gpus;
  const bool all = name == "cuda:all";
  for (size_t begin = 0; !all && begin <= name.size();) {
    const size_t end = std::min(name.find(',', begin), name.size());
    const std::optional<int> gpu = GpuOf(name.substr(begin, end - begin));
    if (!gpu) fail(kUnknown);
    if (std::ranges::find(gpus, *gpu) != gpus.end()) fail("names GPU " + std::to_string(*gpu) + " twice");
    gpus.push_back(*gpu);
    begin = end + 1;
  }
  const int count = std::min<int>(count_gpus(), std::numeric_limits<c10::DeviceIndex>::max());
  if (all) {
    for (int gpu = 0; gpu < count; ++gpu) gpus.push_back(gpu);
  }
  if (gpus.empty() || std::ranges::max(gpus) >= count) {
    fail("is not there: this machine has " + std::to_string(count) + " usable GPU" + (count == 1 ? "" : "s"));
  }
  std::vector<c10::Device> devices;
  for (const int gpu : gpus) devices.emplace_back(c10::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  return devices;
}

std::vector<c10::Device> OpenDevices(const std::string& name) {
  return DevicesOf(name, [&] {
    OpenCuda(name);
    return c10::impl::hasDeviceGuardImpl(c10::kCUDA)
               ? static_cast<int>(c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount())
               : 0;
  });
}

std::optional<c10::Device> DeviceIn(const c10::IValue& value) {
  std::optional<c10::Device> found;
  HoldsTensor(value, [&](const at::Tensor& tensor) {
    if (!tensor.device().is_cpu()) found = tensor.device();
    return found.has_value();
  });
  return found;
}

c10::IValue MoveToDevice(const c10::IValue& value, c10::Device device) {
  if (!HoldsTensor(value, [&](const at::Tensor& tensor) { return tensor.device() != device; })) return value;
  return MapTensors(value, [&](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(device) : tensor; });
}

c10::IValue CopyToDevice(const c10::IValue& value, c10::Device device) {
  if (!HoldsTensor(value, [](const at::Tensor&) { return true; })) return value;
  return MapTensors(value, [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    // LibTorch keeps its page-locked memory until it was read, and CUDA other memory until it was copied.
    const bool may_be_under_way = tensor.is_cpu() && device.is_cuda();
    return tensor.to(device, tensor.scalar_type(), may_be_under_way, /*copy=*/true);
  });
}

at::Tensor NewLocked(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device) {
  const size_t bytes = static_cast<size_t>(c10::multiply_integers(sizes)) * c10::elementSize(dtype);
  if (!device.is_cuda() || bytes < kLeastLockedBytes) return {};
  MemoryAccount::RequireRoom(bytes);
  return at::empty(sizes, at::TensorOptions(dtype).pinned_memory(true));
}

}  // namespace hearth
