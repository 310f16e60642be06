// What needs no GPU; integration_tests/gpu.py has the rest.
#include "jit/device/gpu.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "jit/device/gpu_blas.h"
#include "jit/device/gpu_convolutions.h"

namespace hearth {
namespace {

TEST(GpuTest, TheCpuHasNone) { EXPECT_EQ(OpenGpu(c10::Device(c10::kCPU)), nullptr); }

TEST(GpuTest, NothingThatWasNotOpenedHasLibraries) {
  for (const c10::Device device : {c10::Device(c10::kCPU), c10::Device(c10::kCUDA, 0), c10::Device(c10::kCUDA)}) {
    EXPECT_EQ(BlasOf(device), nullptr);
    EXPECT_EQ(ConvolutionsOf(device), nullptr);
  }
}

// It finds CUDA's functions in what LibTorch has loaded by then: here, in nothing.
TEST(GpuTest, TheLibraryNamesWhatItLacksWhereNoGpuWasOpened) {
  const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libhearth_cuda.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "built without the headers of CUDA's runtime";
  try {
    OpenGpu(c10::Device(c10::kCUDA, 0));
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("libhearth_cuda.so could not be loaded: "), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hearth
