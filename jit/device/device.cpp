#include "jit/device/device.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <stdexcept>

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

c10::Device OpenDevice(const std::string& name) {
  c10::Device device(c10::kCPU);
  try {
    device = c10::Device(name);
  } catch (const c10::Error&) {
    throw std::runtime_error("device \"" + name + "\" is not known; expected cpu, cuda or cuda:N");
  }
  if (device.is_cpu()) return c10::Device(c10::kCPU);
  if (!device.is_cuda())
    throw std::runtime_error("device \"" + name + "\" is not served; expected cpu, cuda or cuda:N");

  OpenCuda(name);
  const int index = device.has_index() ? device.index() : 0;
  const int count =
      c10::impl::hasDeviceGuardImpl(c10::kCUDA) ? c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount() : 0;
  if (index >= count) {
    throw std::runtime_error("device " + name + ": this machine has " + std::to_string(count) + " usable GPUs");
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

c10::IValue MoveToDevice(const c10::IValue& value, c10::Device device) {
  if (!HoldsTensor(value, [&](const at::Tensor& tensor) { return tensor.device() != device; })) return value;
  return MapTensors(value, [&](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(device) : tensor; });
}

c10::IValue CopyToDevice(const c10::IValue& value, c10::Device device) {
  if (!HoldsTensor(value, [](const at::Tensor&) { return true; })) return value;
  return MapTensors(value, [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true) : tensor;
  });
}

}  // namespace hearth
