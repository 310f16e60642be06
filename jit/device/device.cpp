#include "jit/device/device.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <stdexcept>
#include <vector>

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

bool HoldsTensorElsewhere(const c10::IValue& value, c10::Device device) {
  if (value.isTensor()) return value.toTensor().defined() && value.toTensor().device() != device;
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (HoldsTensorElsewhere(element, device)) return true;
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (HoldsTensorElsewhere(element, device)) return true;
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (HoldsTensorElsewhere(entry.key(), device) || HoldsTensorElsewhere(entry.value(), device)) return true;
    }
  }
  return false;
}

c10::IValue Moved(const c10::IValue& value, c10::Device device) {
  if (value.isTensor()) return value.toTensor().defined() ? value.toTensor().to(device) : value;
  if (value.isTensorList() || value.isList()) {
    c10::List<c10::IValue> list = value.toList();
    c10::impl::GenericList moved(list.elementType());
    moved.reserve(list.size());
    for (const c10::IValue& element : value.toListRef()) moved.push_back(Moved(element, device));
    return moved;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(Moved(element, device));
    return c10::ivalue::Tuple::createNamed(std::move(elements), value.toTupleRef().type());
  }
  if (value.isGenericDict()) {
    const c10::impl::GenericDict dict = value.toGenericDict();
    c10::impl::GenericDict moved(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) moved.insert(Moved(entry.key(), device), Moved(entry.value(), device));
    return moved;
  }
  return value;
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
  return HoldsTensorElsewhere(value, device) ? Moved(value, device) : value;
}

}  // namespace hearth
