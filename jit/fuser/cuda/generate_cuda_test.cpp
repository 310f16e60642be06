// Kernels through NVRTC: random ones, and what the images say. Skipped where there is no NVRTC.
#include "jit/fuser/cuda/generate_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "jit/fuser/cuda/nvrtc_testing.h"
#include "jit/fuser/image/executable_memory.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/random_kernels.h"
#include "jit/fuser/ir/unsupported.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kElf[] =
    "\x7f"
    "ELF";

class GenerateCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    static const auto* const problem = new std::string(ProblemWithNvrtc());
    if (!problem->empty()) GTEST_SKIP() << *problem;
  }

  const CudaTarget target_ = CudaTarget::OfText("cuda:sm_90");
};

// HEARTH_RANDOM_KERNELS asks for another number of them.
uint64_t NumRandomKernels() {
  const char* number = std::getenv("HEARTH_RANDOM_KERNELS");
  return number == nullptr ? 200 : std::strtoull(number, nullptr, 10);
}

// Whether there is code for it; what else may come of it fails the test.
bool IsCompiled(const Kernel& kernel, const CudaTarget& target) {
  try {
    EXPECT_THAT(CompileWithNvrtc(CudaSource(kernel), target), StartsWith(kElf));
    return true;
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("sequential"));
    return false;
  } catch (const NvrtcError& error) {
    ADD_FAILURE() << error.what() << "\n" << Print(kernel) << CudaSource(kernel);
    return false;
  }
}

TEST_F(GenerateCudaTest, RandomKernelsAreCompiled) {
  for (uint64_t seed = 0; seed < NumRandomKernels(); ++seed) {
    EXPECT_TRUE(IsCompiled(MakeRandomCase(seed, {.sequential_loops = false}).kernel, target_)) << seed;
  }
}

TEST_F(GenerateCudaTest, SomeSequentialLoopsAreCompiled) {
  uint64_t compiled = 0;
  const uint64_t number = NumRandomKernels() / 8;
  for (uint64_t seed = 0; seed < number; ++seed) compiled += IsCompiled(MakeRandomCase(seed).kernel, target_) ? 1 : 0;
  EXPECT_GT(2 * compiled, number);
}

// Of device code: instructions are of 16 bytes, and the lowest 12 bits say which.
size_t NumLoads(std::string_view cubin) {
  constexpr uint16_t kLoad = 0x981;
  size_t loads = 0;
  for (size_t at = 0; at + 16 <= cubin.size(); at += 16) {
    uint16_t bits = 0;
    std::memcpy(&bits, &cubin[at], sizeof bits);
    loads += (bits & 0xfff) == kLoad ? 1 : 0;
  }
  return loads;
}

// Of a kernel that stores one comparison of what it computes of a number that it loads.
size_t NumLoadsOfComparison(const std::string& compared) {
  const Kernel kernel = Parse(R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = f32 constant -1
  %3 = f32 constant 2
  input @0 f32 [%0] strides [%1]
  output @1 b1 [%0] strides [%1]
  parallel %4 < %0 {
    %5 = f32 load @0 [%4]
    )" + compared + R"(
    store @1 [%4], %7
  }
})");
  Verify(kernel);
  return NumLoads(CompileWithNvrtc(CudaSource(kernel), CudaTarget::OfText("cuda:sm_90")));
}

TEST_F(GenerateCudaTest, AnAbsoluteValueMayBeNan) {
  EXPECT_EQ(NumLoadsOfComparison("%6 = f32 add %5, %3\n %7 = b1 equal %2, %3"), 0u);
  const size_t loads = NumLoadsOfComparison("%6 = f32 add %5, %3\n %7 = b1 less %2, %6");
  EXPECT_GT(loads, 0u);
  EXPECT_EQ(NumLoadsOfComparison("%6 = f32 absolute %5\n %7 = b1 less %2, %6"), loads);
  EXPECT_EQ(NumLoadsOfComparison("%6 = f32 copy_sign %5, %3\n %7 = b1 less %2, %6"), loads);
}

Kernel RowMeans() {
  Kernel kernel = Parse(R"(kernel(%0, %1) {
  %2 = i64 constant 1
  %3 = i64 constant 100
  input @0 f32 [%0, %3] strides [%1, %2]
  output @1 f32 [%0] strides [%2]
  output @2 f32 [%0, %3] strides [%1, %2]
  local @3 f32 [%3]
  parallel %4 < %0 {
    %7 = reduce %5 < %3 {
      %6 = f32 load @0 [%4, %5]
      store @3 [%5], %6
      yield sum %6
    }
    store @1 [%4], %7
    parallel %8 < %3 {
      %9 = f32 load @3 [%8]
      store @2 [%4, %8], %9
    }
  }
  parallel %10 < %0 {
    %11 = f32 load @1 [%10]
    store @1 [%10], %11
  }
})");
  Verify(kernel);
  return kernel;
}

TEST_F(GenerateCudaTest, AnImageHasTheDevicesCodeAndTheHostsSizes) {
  const Kernel kernel = RowMeans();
  const KernelImage image = ParseKernelImage(SerializeKernelImage(GenerateCuda(kernel, target_)));
  EXPECT_EQ(image.target, "cuda:sm_90");
  EXPECT_EQ(image.kernel_hash, HashOf(Print(kernel)));
  EXPECT_THAT(image.device_code, StartsWith(kElf));
  for (const char* name : {"loop_0", "loop_0_wide", "loop_1", "loop_1_wide"}) {
    EXPECT_THAT(image.device_code, HasSubstr(std::string(".text.") + name + '\0'));
  }
  EXPECT_TRUE(image.loop_entries.empty());
  // A short row is a warp's.
  EXPECT_THAT(image.device_loops, ElementsAre(DeviceLoop{.threads = 128,
                                                         .threads_per_round = kThreadsPerWarp,
                                                         .alignment = 4,
                                                         .has_locals_in_registers = true},
                                              DeviceLoop{.threads = 256}));
  const ExecutableMemory host(image);
  const int64_t symbols[] = {17, 200};
  int64_t sizes[2 * kSizesPerLoop] = {};
  host.sizes()(symbols, sizes);
  EXPECT_EQ(sizes[0], 17);
  EXPECT_EQ(sizes[2], 448);  // 100 f32, up to a multiple of 64
  EXPECT_EQ(sizes[kSizesPerLoop], 17);
  EXPECT_EQ(sizes[kSizesPerLoop + 2], 0);
}

TEST_F(GenerateCudaTest, TheSameKernelGivesTheSameBytes) {
  EXPECT_EQ(SerializeKernelImage(GenerateCuda(RowMeans(), target_)),
            SerializeKernelImage(GenerateCuda(RowMeans(), target_)));
}

TEST_F(GenerateCudaTest, WhatIsWrongWithASourceIsTold) {
  try {
    CompileWithNvrtc("__global__ void loop() { undeclared = 1; }", target_);
    FAIL();
  } catch (const NvrtcError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"undeclared\" is undefined"));
  }
}

TEST(CudaTargetTest, ATargetIsAnArchitecture) {
  EXPECT_EQ(CudaTarget::OfText("cuda:sm_90").architecture(), "sm_90");
  EXPECT_EQ(CudaTarget::OfText("cuda:sm_120a").text(), "cuda:sm_120a");
  for (const char* text : {"", "cuda:", "cuda:sm_", "cuda:sm_a", "cuda:90", "sm_90", "cuda:sm_90x", "cuda:sm_90 "}) {
    EXPECT_THROW(CudaTarget::OfText(text), CudaTargetError) << text;
  }
  EXPECT_THAT([] { CudaTarget::OfText("cuda:sm_75"); },
              testing::ThrowsMessage<CudaTargetError>(HasSubstr("compute capability 8.0")));
}

}  // namespace
}  // namespace hearth::fuser
