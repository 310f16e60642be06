// For tests: a kernel compiled for a target, mapped, and run in one thread as a launcher would.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/fuser/image/executable_memory.h"
#include "jit/fuser/llvm/generate.h"

namespace hearth::fuser {

class CompiledKernel {
 public:
  CompiledKernel(const Kernel& kernel, const HostTarget& target)
      : memory_(ParseKernelImage(SerializeKernelImage(Generate(kernel, target)))) {}

  struct LoopSize {
    int64_t rounds, work, scratch_bytes;
  };
  std::vector<LoopSize> Sizes(std::span<const int64_t> symbols) const {
    std::vector<int64_t> numbers(memory_.num_loops() * kSizesPerLoop);
    memory_.sizes()(symbols.data(), numbers.data());
    std::vector<LoopSize> sizes;
    for (size_t i = 0; i < numbers.size(); i += kSizesPerLoop)
      sizes.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    return sizes;
  }

  // Each loop in chunks of that many rounds. The memory of a buffer begins with the element whose indices are all 0.
  void Run(std::span<void* const> buffers, std::span<const int64_t> symbols, int64_t chunk = INT64_MAX) const {
    const std::vector<LoopSize> sizes = Sizes(symbols);
    for (size_t loop = 0; loop < sizes.size(); ++loop) {
      const std::unique_ptr<void, decltype(&std::free)> scratch(
          std::aligned_alloc(kBlockAlignment, std::max<int64_t>(sizes[loop].scratch_bytes, kBlockAlignment)),
          &std::free);
      for (int64_t begin = 0; begin < sizes[loop].rounds;) {
        const int64_t end = begin + std::min(chunk, sizes[loop].rounds - begin);
        memory_.loop(loop)(buffers.data(), symbols.data(), begin, end, scratch.get());
        begin = end;
      }
    }
  }

 private:
  ExecutableMemory memory_;
};

// The levels of x86-64 that this machine can run, and the machine itself.
inline std::vector<std::string> TargetsOfThisMachine() {
  std::vector<std::string> targets = {"x86-64"};
  const HostTarget native = HostTarget::Native();
  if (native.Has("avx2") && native.Has("fma") && native.Has("bmi2")) targets.emplace_back("x86-64-v3");
  if (native.Has("avx512vl") && native.Has("avx512bw") && native.Has("avx512dq")) targets.emplace_back("x86-64-v4");
  targets.emplace_back("native");
  return targets;
}

}  // namespace hearth::fuser
