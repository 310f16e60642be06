// The kernels of a process, made by a helper program and kept: all models and plans share them, by their text. What an
// earlier process made is read from disk (kernel_store.h). The helper has the compiler (LLVM), which the daemon does
// not carry; it may crash, hang or take too much memory and no request is the worse for it. It is started when the
// first kernel is asked for that nobody has made, and again where it has ended.
//
// A kernel is set aside, for this process and those that share its folder, where the helper refuses it, takes too long
// over it, or crashes at it twice, and where its code gave wrong results. A helper that cannot be started, or that
// somebody ends, says nothing about the kernel: it is asked again after a while, which doubles each time, and a bounded
// number of times for each kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "jit/device/gpu.h"
#include "jit/fuser/runtime/codegen_process.h"
#include "jit/fuser/runtime/kernel_images.h"
#include "jit/fuser/runtime/kernel_source.h"
#include "jit/fuser/runtime/kernel_store.h"

namespace hearth::fuser {

// Thread-safe.
class KernelTable : public KernelSource {
 public:
  struct Settings {
    std::string helper;  // path of hearth-codegen
    std::string target = kNativeTarget;
    std::vector<std::string> environment = {};  // of the helper, as CodegenProcess takes it
    std::chrono::milliseconds patience{10000};  // for one kernel
    // Until a helper that could not be started, or kept ending, is tried again.
    std::chrono::milliseconds retry_after{10000};
    std::string folder = {};             // where code is kept for other processes; empty: nowhere
    std::shared_ptr<Gpu> gpu = nullptr;  // where the code runs; null: on the CPU
    // Of the tables of other GPUs with the same target; null: there are none.
    std::shared_ptr<KernelImages> shared = nullptr;
  };
  explicit KernelTable(Settings settings);
  c10::DeviceType device() const override { return settings_.gpu != nullptr ? c10::kCUDA : c10::kCPU; }

  // One at a time is made: others wait. The helper's time of the processor is the thread's (support/processor_time.h).
  std::shared_ptr<const KernelCode> Get(const std::string& text, const std::function<void()>& rest) override;
  std::optional<std::shared_ptr<const KernelCode>> Find(const std::string& text) override;
  void SetAside(const std::string& text, const std::string& reason) override;
  bool MayRetry() const override;
  KernelCounters counters() const override;

 private:
  struct Kernel {
    bool is_known = false;                   // what follows is for good
    std::shared_ptr<const KernelCode> code;  // null: set aside
    unsigned failures = 0;                   // of the helper's own, when it was asked for this one
  };
  // What came of asking the helper: code, or a reason why there is none, or neither where it failed for reasons of its
  // own.
  struct Answer {
    std::shared_ptr<const KernelCode> code;
    std::string refusal;
  };

  Answer Make(const std::string& text, const std::function<void()>& rest);
  Answer Ask(const std::string& text, const std::function<void()>& rest);
  void Postpone(const std::string& text, const std::string& reason);
  void Keep(const std::string& text, std::shared_ptr<const KernelCode> code);

  const Settings settings_;
  const std::unique_ptr<KernelStore> store_;  // null: nothing is kept
  // When the helper that failed may be tried again, by the steady clock; 0: it did not fail.
  std::atomic<int64_t> retry_at_{0};
  std::mutex making_;  // held for as long as that takes
  std::unique_ptr<CodegenProcess> process_;
  std::chrono::milliseconds retry_after_;
  mutable std::mutex mutex_;  // of what follows, and taken after making_
  std::unordered_map<std::string, Kernel> kernels_;
  KernelCounters counters_;
};

}  // namespace hearth::fuser
