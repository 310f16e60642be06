// Compiled kernels against the evaluator: random ones, and kernels as the fuser will make them. For each level of
// x86-64 that this machine has.
#include "jit/fuser/llvm/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/random_kernels.h"
#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/verifier.h"
#include "jit/fuser/llvm/compiled_kernel_testing.h"
#include "jit/fuser/llvm/operations.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;

// How much a result of a function may differ, relative to it.
double ToleranceOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return 1e-14;
    case Dtype::kFloat32:
      return 2e-6;
    case Dtype::kFloat16:
      return 2e-3;
    case Dtype::kBFloat16:
      return 1.6e-2;
    default:
      return 0;
  }
}

bool SameElement(Bits a, Bits b, Dtype dtype, bool approximate) {
  if (a == b) return true;
  if (!IsFloating(dtype)) return false;
  const double x = DoubleOf(a, dtype);
  const double y = DoubleOf(b, dtype);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return approximate && std::fabs(x - y) <= ToleranceOf(dtype) * std::max(std::fabs(x), 1e-30);
}

void ExpectSame(const Kernel& kernel, const std::vector<RandomBuffer>& expected, const std::vector<RandomBuffer>& got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const Dtype dtype = kernel.buffers[i].dtype;
    for (size_t at = 0; at < expected[i].memory.size(); at += BytesOf(dtype)) {
      const Bits a = ReadElement(expected[i].memory.data() + at, dtype);
      const Bits b = ReadElement(got[i].memory.data() + at, dtype);
      ASSERT_TRUE(SameElement(a, b, dtype, expected[i].approximate))
          << "@" << i << " element " << at / BytesOf(dtype) << ": expected " << DoubleOf(a, dtype) << ", got "
          << DoubleOf(b, dtype);
    }
  }
}

void RunCompiled(const CompiledKernel& compiled, const RandomCase& made, std::vector<RandomBuffer>& buffers,
                 int64_t chunk) {
  std::vector<void*> pointers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    pointers.push_back(buffers[i].memory.data() +
                       buffers[i].origin * static_cast<int64_t>(BytesOf(made.kernel.buffers[i].dtype)));
  }
  compiled.Run(pointers, made.symbols, chunk);
}

// Random kernels from `begin` on; HEARTH_RANDOM_KERNELS says how many more than a test run takes.
uint64_t NumRandomKernels() {
  const char* number = std::getenv("HEARTH_RANDOM_KERNELS");
  return number == nullptr ? 60 : std::strtoull(number, nullptr, 10);
}

class GenerateTest : public testing::TestWithParam<std::string> {
 protected:
  HostTarget target_ = HostTarget::OfText(GetParam());
};

TEST_P(GenerateTest, RandomKernelsDoWhatTheEvaluatorDoes) {
  const char* first = std::getenv("HEARTH_FIRST_RANDOM_KERNEL");
  const uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  for (uint64_t seed = begin; seed < begin + NumRandomKernels(); ++seed) {
    SCOPED_TRACE(seed);
    const RandomCase made = MakeRandomCase(seed);
    std::vector<RandomBuffer> expected = made.buffers;
    Evaluate(made.kernel, made.symbols, MemoryOf(expected));
    try {
      const CompiledKernel compiled(made.kernel, target_);
      for (const int64_t chunk : {INT64_MAX, int64_t{3}}) {
        std::vector<RandomBuffer> got = made.buffers;
        RunCompiled(compiled, made, got, chunk);
        ExpectSame(made.kernel, expected, got);
      }
    } catch (const Unsupported& error) {
      // fma of a processor without it.
      EXPECT_EQ(GetParam(), "x86-64");
      EXPECT_THAT(error.what(), HasSubstr("fma"));
    }
    if (HasFatalFailure()) FAIL() << Print(made.kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GenerateTest, testing::ValuesIn(TargetsOfThisMachine()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace hearth::fuser
