#include "jit/fuser/runtime/gpu_kernel.h"

#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <string>

namespace hearth::fuser {
namespace {

// So many for each multiprocessor: as many as it may have at the same time. Further rounds are theirs, too.
constexpr uint32_t kBlocksAtATime = 32;

std::shared_ptr<const GpuCode> Load(Gpu& gpu, const KernelImage& image) {
  std::vector<std::string> names;
  for (size_t i = 0; i < image.device_loops.size(); ++i) {
    names.push_back("loop_" + std::to_string(i));
    names.push_back(names.back() + "_wide");
  }
  return gpu.Load(image.device_code, names);
}

}  // namespace

GpuKernel::GpuKernel(Gpu& gpu, const KernelImage& image)
    : device_(gpu.device()),
      loops_(image.device_loops),
      most_blocks_(gpu.multiprocessors() * kBlocksAtATime),
      most_shared_bytes_(gpu.most_shared_bytes()),
      code_(Load(gpu, image)) {}

void GpuKernel::RunLoop(size_t loop, std::span<void* const> buffers, std::span<const int64_t> symbols, int64_t rounds,
                        int64_t scratch_bytes, bool is_wide) const {
  if (rounds <= 0) return;
  const DeviceLoop& shape = loops_[loop];
  const int64_t rounds_at_a_time = shape.threads / shape.threads_per_round;
  is_wide = is_wide || rounds > kMostNarrowElements || !std::ranges::all_of(buffers, [&](const void* buffer) {
              return reinterpret_cast<uintptr_t>(buffer) % shape.alignment == 0;
            });
  if (!is_wide && shape.has_locals_in_registers) scratch_bytes = 0;
  const int64_t shared_bytes = shape.threads_per_round == 1 ? scratch_bytes : scratch_bytes * rounds_at_a_time;
  TORCH_CHECK(shared_bytes <= most_shared_bytes_, "a fused kernel needs ", scratch_bytes, " bytes for each of ",
              rounds_at_a_time, " rows, of which a GPU's block has ", most_shared_bytes_, " in all");
  c10::SmallVector<uint64_t, 32> words;
  for (void* const buffer : buffers) words.push_back(reinterpret_cast<uint64_t>(buffer));
  for (const int64_t symbol : symbols) words.push_back(static_cast<uint64_t>(symbol));
  words.push_back(static_cast<uint64_t>(rounds));
  const int64_t rounds_of_block = rounds_at_a_time * shape.rounds_per_thread;
  const int64_t blocks = (rounds + rounds_of_block - 1) / rounds_of_block;
  code_->Run({.function = 2 * loop + (is_wide ? 1 : 0),
              .blocks = static_cast<uint32_t>(std::min<int64_t>(blocks, most_blocks_)),
              .threads = shape.threads,
              .shared_bytes = static_cast<uint32_t>(shared_bytes),
              .words = words});
}

}  // namespace hearth::fuser
