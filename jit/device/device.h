// What a device must offer before models are put on it. CUDA's part of LibTorch is opened only where a GPU is used.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// The devices of a name: "cpu", "cuda" (the first GPU), "cuda:N", several ("cuda:0,cuda:2") or "cuda:all". At least
// one, none twice, the CPU alone. `count_gpus` is asked once where a GPU is named. Throws std::runtime_error for an
// unknown name and a GPU that is not there.
std::vector<c10::Device> DevicesOf(const std::string& name, const std::function<int()>& count_gpus);

// The same of this machine, made usable. Throws std::runtime_error also where there is no LibTorch with CUDA. Call at
// start-up, before other threads use LibTorch.
std::vector<c10::Device> OpenDevices(const std::string& name);

// Of the first tensor in the value that is not in the CPU's memory; nothing if there is none.
std::optional<c10::Device> DeviceIn(const c10::IValue& value);

// The value with every tensor in it on `device`; containers are copied only if a tensor in them has to move. Objects
// are left as they are. Waits until copies to the CPU are done.
c10::IValue MoveToDevice(const c10::IValue& value, c10::Device device);

// The same with tensors of its own: those that are on `device` are copied too. A copy from the host to a GPU may still
// be under way on the thread's current stream; the host's memory may be given up.
c10::IValue CopyToDevice(const c10::IValue& value, c10::Device device);

// A contiguous tensor of any numbers in page-locked memory of the host, for what CopyToDevice then copies to `device`:
// a GPU reads that three times as fast. It takes longer to get the first time; what was given up is kept and given
// again. Undefined for a CPU, and for less than kLeastLockedBytes, of which other memory is as good. Throws
// MemoryLimitError where the thread's account has no room for it; it is not counted then.
inline constexpr size_t kLeastLockedBytes = size_t{64} << 10;
at::Tensor NewLocked(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device);

}  // namespace hearth
