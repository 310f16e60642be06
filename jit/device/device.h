// What a device must offer before models are put on it. CUDA's part of LibTorch is opened only where a GPU is used.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <string>

namespace hearth {

// Makes the device usable: "cpu", "cuda" (the first GPU) or "cuda:N". Throws std::runtime_error that says what is
// missing: an unknown name, no LibTorch with CUDA, no such GPU. Call at start-up, before other threads use LibTorch.
c10::Device OpenDevice(const std::string& name);

// The value with every tensor in it on `device`; containers are copied only if a tensor in them has to move. Objects
// are left as they are. Waits until copies to the CPU are done.
c10::IValue MoveToDevice(const c10::IValue& value, c10::Device device);

// The same with tensors of its own: those that are on `device` are copied too.
c10::IValue CopyToDevice(const c10::IValue& value, c10::Device device);

}  // namespace hearth
