// How a kernel's loops are launched, on a GPU that notes what it is asked for.
#include "jit/fuser/runtime/gpu_kernel.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct NotingCode final : GpuCode {
  void Run(const Launch& launch) const override { launches.push_back(launch); }
  mutable std::vector<Launch> launches;  // whose words are gone
};

struct NotingGpu final : Gpu {
  c10::Device device() const override { return {c10::kCUDA, 0}; }
  std::string architecture() const override { return "none"; }
  std::string library_folder() const override { return {}; }
  uint32_t multiprocessors() const override { return 2; }
  uint32_t most_shared_bytes() const override { return 1024; }
  std::unique_ptr<RecordedGraph> Record(const std::function<void(const c10::Stream&)>&) override { return nullptr; }
  std::shared_ptr<const GpuCode> Load(const std::string&, std::span<const std::string> functions) override {
    names.assign(functions.begin(), functions.end());
    return code;
  }
  at::Tensor OpenSharedMemory(const std::string&, int64_t) override { return {}; }

  std::shared_ptr<NotingCode> code = std::make_shared<NotingCode>();
  std::vector<std::string> names;
};

class GpuKernelTest : public testing::Test {
 protected:
  // Of one loop: the launch for so many rounds, with scratch of 100 bytes, of a buffer so far from alignment.
  GpuCode::Launch LaunchOf(const DeviceLoop& loop, int64_t rounds, size_t misplaced = 0, bool is_wide = false) {
    KernelImage image;
    image.device_loops = {loop};
    const GpuKernel kernel(gpu_, image);
    alignas(64) static std::byte memory[128];
    void* const buffers[] = {memory + misplaced};
    kernel.RunLoop(0, buffers, {}, rounds, 100, is_wide);
    return gpu_.code->launches.back();
  }

  NotingGpu gpu_;
};

TEST_F(GpuKernelTest, WhatIsWideOrNotAlignedIsForTheSecondFunction) {
  const DeviceLoop rows{.threads = 128, .threads_per_round = 128, .alignment = 16, .has_locals_in_registers = true};
  EXPECT_EQ(LaunchOf(rows, 8).function, 0U);
  EXPECT_EQ(LaunchOf(rows, 8).shared_bytes, 0U);
  EXPECT_EQ(gpu_.names, (std::vector<std::string>{"loop_0", "loop_0_wide"}));
  for (const GpuCode::Launch& launch :
       {LaunchOf(rows, 8, 8), LaunchOf(rows, 8, 0, true), LaunchOf(rows, kMostNarrowElements + 1)}) {
    EXPECT_EQ(launch.function, 1U);
    EXPECT_EQ(launch.shared_bytes, 100U) << "it has its local buffers there";
  }
}

TEST_F(GpuKernelTest, BlocksAreAsManyAsRoundsNeedAndTheGpuHasAtATime) {
  EXPECT_EQ(LaunchOf({.threads = 256, .rounds_per_thread = 4}, 2049).blocks, 3U);
  EXPECT_EQ(LaunchOf({.threads = 128, .threads_per_round = 32}, 9).blocks, 3U);
  EXPECT_EQ(LaunchOf({.threads = 64, .threads_per_round = 64}, 9).blocks, 9U);
  EXPECT_EQ(LaunchOf({.threads = 64, .threads_per_round = 64}, 1000).blocks, 64U);
}

TEST_F(GpuKernelTest, EachWarpHasScratchOfItsOwn) {
  EXPECT_EQ(LaunchOf({.threads = 128, .threads_per_round = 32}, 9).shared_bytes, 400U);
  EXPECT_THAT([&] { LaunchOf({.threads = 512, .threads_per_round = 32}, 9); },
              ThrowsMessage<c10::Error>(HasSubstr("100 bytes for each of 16 rows, of which a GPU's block has 1024")));
}

}  // namespace
}  // namespace hearth::fuser
