// What there is one of for each GPU, as long as the process lives.
#pragma once

#include <c10/core/Device.h>
#include <c10/cuda/CUDAMacros.h>

#include <array>
#include <cstddef>
#include <mutex>

namespace hearth {

// The device's T, made of its index at the first call, and never freed: plans may run until the process ends.
// Thread-safe. Throws what T's constructor throws.
template <typename T>
T& OfGpu(c10::DeviceIndex device) {
  static std::mutex mutex;
  static auto* const made = new std::array<T*, C10_COMPILE_TIME_MAX_GPUS>{};
  const std::lock_guard lock(mutex);
  T*& one = made->at(static_cast<size_t>(device));
  if (one == nullptr) one = new T(device);
  return *one;
}

}  // namespace hearth
