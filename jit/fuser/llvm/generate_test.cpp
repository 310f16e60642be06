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
#include "jit/fuser/ir/softmax_testing.h"
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

// HEARTH_RANDOM_KERNELS asks for more than a run of all tests has time for, HEARTH_FIRST_RANDOM_KERNEL for others.
uint64_t NumRandomKernels() {
  const char* number = std::getenv("HEARTH_RANDOM_KERNELS");
  return number == nullptr ? 40 : std::strtoull(number, nullptr, 10);
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

Kernel WellFormed(const std::string& text) {
  Kernel kernel = Parse(text);
  Verify(kernel);
  return kernel;
}

// Runs what `text` was compiled to on buffers of small numbers, each of `elements`, against the evaluator.
void ExpectSameAsEvaluator(const CompiledKernel& compiled, const std::string& text, std::vector<int64_t> symbols,
                           size_t elements) {
  RandomCase made{.kernel = WellFormed(text), .symbols = std::move(symbols), .buffers = {}};
  std::mt19937 random(11);
  for (size_t i = 0; i < made.kernel.num_inputs() + made.kernel.num_outputs(); ++i) {
    const Dtype dtype = made.kernel.buffers[i].dtype;
    std::vector<std::byte> memory(elements * BytesOf(dtype));
    for (size_t at = 0; at < memory.size(); at += BytesOf(dtype)) {
      // Quarters, so that sums are exact.
      const Bits quarters =
          Convert(BitsOf(static_cast<double>(random() % 65) / 4 - 8, Dtype::kFloat64), Dtype::kFloat64, dtype);
      WriteElement(memory.data() + at, dtype, quarters);
    }
    made.buffers.push_back({.memory = std::move(memory), .origin = 0, .approximate = true});
  }
  std::vector<RandomBuffer> expected = made.buffers;
  Evaluate(made.kernel, made.symbols, MemoryOf(expected));
  for (const int64_t chunk : {INT64_MAX, int64_t{1}}) {
    std::vector<RandomBuffer> got = made.buffers;
    RunCompiled(compiled, made, got, chunk);
    ExpectSame(made.kernel, expected, got);
  }
}

TEST_P(GenerateTest, SoftmaxOfRowsOfAllLengths) {
  const CompiledKernel compiled(WellFormed(kSoftmax), target_);
  for (int64_t columns = 0; columns < 150; ++columns) {
    SCOPED_TRACE(columns);
    ExpectSameAsEvaluator(compiled, kSoftmax, {3, columns}, 3 * static_cast<size_t>(columns));
  }
}

TEST_P(GenerateTest, ReductionsOfAllDtypesAndLengths) {
  for (const char* dtype : {"u8", "i8", "i16", "i32", "i64", "f32", "f64"}) {
    for (const char* reduction : {"sum", "minimum", "maximum", "arg_minimum", "arg_maximum"}) {
      const std::string result = std::string(reduction).starts_with("arg") ? "i64" : dtype;
      const std::string text =
          std::string("kernel(%0, %1) {\n  %2 = i64 constant 1\n  input @0 ") + dtype +
          " [%0, %1] strides [%1, %2]\n  output @1 " + result +
          " [%0] strides [%2]\n  parallel %3 < %0 {\n    %6 = reduce %4 < %1 {\n      %5 = " + dtype +
          " load @0 [%3, %4]\n      yield " + reduction + " %5\n    }\n    store @1 [%3], %6\n  }\n}\n";
      const CompiledKernel compiled(WellFormed(text), target_);
      for (const int64_t columns : {0, 1, 2, 15, 64, 77, 100}) {
        SCOPED_TRACE(text + std::to_string(columns));
        ExpectSameAsEvaluator(compiled, text, {5, columns}, 500);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Every f32 that is near a half or a bfloat16, or half way between two, and all others by samples; and all halves back.
TEST_P(GenerateTest, ConversionsToAndFromReducedDtypesAreExact) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBFloat16}) {
    KernelBuilder k;
    const ValueId n = k.Symbol();
    const ValueId one = k.Integer(1);
    const BufferId x = k.Input(Dtype::kFloat32, {n}, {one});
    const BufferId narrow = k.Output(dtype, {n}, {one});
    const BufferId back = k.Output(Dtype::kFloat32, {n}, {one});
    k.Parallel(n, [&](ValueId i) {
      const ValueId index[] = {i};
      const ValueId converted = k.Cast(k.Load(x, index), dtype);
      k.Store(narrow, index, converted);
      k.Store(back, index, k.Cast(converted, Dtype::kFloat32));
    });
    const CompiledKernel compiled(k.Finish(), target_);
    std::vector<uint32_t> floats;
    for (uint64_t high = 0; high < 1 << 20; high += 3) {
      for (const int offset : {-1, 0, 1}) floats.push_back(static_cast<uint32_t>((high << 12) + offset));
    }
    std::vector<uint16_t> got(floats.size());
    std::vector<uint32_t> widened(floats.size());
    const int64_t symbols[] = {static_cast<int64_t>(floats.size())};
    void* const buffers[] = {floats.data(), got.data(), widened.data()};
    compiled.Run(buffers, symbols);
    for (size_t i = 0; i < floats.size(); ++i) {
      const Bits expected = Convert(floats[i], Dtype::kFloat32, dtype);
      ASSERT_TRUE(SameElement(expected, got[i], dtype, false))
          << std::hex << floats[i] << " " << expected << " " << got[i];
      ASSERT_TRUE(SameElement(Convert(expected, dtype, Dtype::kFloat32), widened[i], Dtype::kFloat32, false))
          << std::hex << expected << " " << widened[i];
    }
  }
}

// What is prepared for the CPU is a kernel like any other, which the evaluator runs, too.
TEST(PrepareForCpuTest, RandomKernelsStayWellFormedAndComputeTheSame) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCase made = MakeRandomCase(seed);
    const Kernel prepared = PrepareForCpu(made.kernel);
    ASSERT_NO_THROW(Verify(prepared)) << Print(made.kernel);
    std::vector<RandomBuffer> expected = made.buffers;
    std::vector<RandomBuffer> got = made.buffers;
    Evaluate(made.kernel, made.symbols, MemoryOf(expected));
    for (const bool backwards : {false, true}) {
      got = made.buffers;
      Evaluate(prepared, made.symbols, MemoryOf(got), {.backwards = backwards});
      ExpectSame(made.kernel, expected, got);
    }
    if (HasFatalFailure()) FAIL() << Print(made.kernel);
  }
}

// A standard deviation of columns: two reductions, with values that go from one to the other and on.
constexpr char kColumns[] = R"(kernel(%0, %1) {
  %2 = i64 constant 1
  %3 = f32 cast %0
  input @0 f32 [%0, %1] strides [%1, %2]
  output @1 f32 [%1] strides [%2]
  parallel %4 < %1 {
    %5 = f32 constant 4
    %8, %9 = reduce %6 < %0 {
      %7 = f32 load @0 [%6, %4]
      yield sum %7, maximum %7
    }
    %10 = f32 divide %8, %5
    %15 = reduce %11 < %0 {
      %12 = f32 load @0 [%11, %4]
      %13 = f32 subtract %12, %10
      %14 = f32 multiply %13, %13
      yield sum %14
    }
    %16 = f32 add %15, %9
    store @1 [%4], %16
  }
})";

TEST(PrepareForCpuTest, ReductionsOfColumnsAreInterchanged) {
  const Kernel prepared = PrepareForCpu(WellFormed(kColumns));
  Verify(prepared);
  EXPECT_THAT(Print(prepared), HasSubstr("sequential"));
  EXPECT_THAT(Print(prepared), testing::Not(HasSubstr("reduce")));
  // Rows are in the right order already.
  EXPECT_THAT(Print(PrepareForCpu(WellFormed(kSoftmax))), testing::Not(HasSubstr("sequential")));
}

TEST_P(GenerateTest, ReductionsOfColumns) {
  const CompiledKernel compiled(WellFormed(kColumns), target_);
  for (const int64_t columns : {0, 1, 7, 100, 255, 256, 257, 700}) {
    SCOPED_TRACE(columns);
    ExpectSameAsEvaluator(compiled, kColumns, {4, columns}, 4 * static_cast<size_t>(columns));
  }
}

TEST_P(GenerateTest, SizesSayRoundsWorkAndScratch) {
  const CompiledKernel compiled(Parse(kSoftmax), target_);
  const auto of = [&](int64_t rows, int64_t columns) {
    const int64_t symbols[] = {rows, columns};
    return compiled.Sizes(symbols).at(0);
  };
  EXPECT_EQ(of(7, 10).rounds, 7);
  EXPECT_EQ(of(-7, 10).rounds, 0);
  EXPECT_EQ(of(7, 10).scratch_bytes, 64);
  EXPECT_EQ(of(7, 17).scratch_bytes, 128);
  EXPECT_EQ(of(7, -17).scratch_bytes, 0);
  EXPECT_GE(of(7, 1000).work, 15000);
  EXPECT_LE(of(7, 1000).work, 50000);
  EXPECT_GE(of(7, 0).work, 1);
  EXPECT_GT(of(7, INT64_MAX).work, INT64_MAX / 4);
}

TEST_P(GenerateTest, TheSameKernelGivesTheSameBytes) {
  const Kernel kernel = Parse(kSoftmax);
  const std::string bytes = SerializeKernelImage(Generate(kernel, target_));
  EXPECT_EQ(SerializeKernelImage(Generate(kernel, target_)), bytes);
  const KernelImage image = ParseKernelImage(bytes);
  EXPECT_EQ(HostTarget::OfText(image.target).text(), image.target);
  EXPECT_EQ(image.kernel_hash, HashOf(Print(kernel)));
}

// A loop that copies or fills is what LLVM would make a call of memcpy or memset of.
TEST_P(GenerateTest, CopiesAndFillsNeedNoLibrary) {
  const std::string text = R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = f32 constant 0
  input @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  output @2 f32 [%0] strides [%1]
  parallel %3 < %0 {
    %4 = f32 load @0 [%3]
    store @1 [%3], %4
    store @2 [%3], %2
  }
})";
  ExpectSameAsEvaluator(CompiledKernel(WellFormed(text), target_), text, {1000}, 1000);
}

INSTANTIATE_TEST_SUITE_P(Targets, GenerateTest, testing::ValuesIn(TargetsOfThisMachine()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace hearth::fuser
