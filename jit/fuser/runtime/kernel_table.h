// The kernels of a process, made by a helper program and kept: all models and plans share them, by their text. The
// helper has the compiler (LLVM), which the daemon does not carry; it may crash, hang or take too much memory and no
// request is the worse for it. It is started when the first kernel is asked for, and again where it has ended.
//
// A kernel that the helper refuses, or at which it ends or takes too long, is not asked for again.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "jit/fuser/runtime/codegen_process.h"
#include "jit/fuser/runtime/kernel_source.h"

namespace hearth::fuser {

// Thread-safe.
class KernelTable : public KernelSource {
 public:
  struct Settings {
    std::string helper;  // path of hearth-codegen
    std::string target = "native";
    std::chrono::milliseconds patience{10000};  // for one kernel
  };
  struct Counters {
    size_t made = 0;
    size_t refused = 0;
    size_t bytes = 0;                  // of machine code
    std::chrono::nanoseconds time{0};  // that was waited for the helper
  };

  explicit KernelTable(Settings settings);

  // One at a time is made: others wait. The helper's time of the processor is the thread's (support/processor_time.h).
  std::shared_ptr<const KernelCode> Get(const std::string& text, const std::function<void()>& rest) override;
  std::optional<std::shared_ptr<const KernelCode>> Find(const std::string& text) const override;
  Counters counters() const;

 private:
  std::shared_ptr<const KernelCode> Make(const std::string& text, const std::function<void()>& rest);

  const Settings settings_;
  std::mutex making_;  // held for as long as that takes
  std::unique_ptr<CodegenProcess> process_;
  mutable std::mutex mutex_;  // of what follows, and taken after making_
  std::unordered_map<std::string, std::shared_ptr<const KernelCode>> kernels_;  // null: refused
  Counters counters_;
};

}  // namespace hearth::fuser
