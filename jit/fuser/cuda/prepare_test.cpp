#include "jit/fuser/cuda/prepare.h"

#include <gtest/gtest.h>

#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/random_kernels.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

std::string Prepared(const std::string& text) {
  const Kernel kernel = Parse(text);
  Verify(kernel);
  return Print(PrepareForCuda(kernel));
}

TEST(PrepareForCudaTest, PreparedKernelsDoWhatTheyDidBefore) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCase made = MakeRandomCase(seed);
    const Kernel prepared = PrepareForCuda(made.kernel);
    ASSERT_NO_THROW(Verify(prepared)) << Print(prepared);
    std::vector<RandomBuffer> before = made.buffers;
    std::vector<RandomBuffer> after = made.buffers;
    std::vector<RandomBuffer> backwards = made.buffers;
    Evaluate(made.kernel, made.symbols, MemoryOf(before));
    ASSERT_NO_THROW(Evaluate(prepared, made.symbols, MemoryOf(after))) << Print(prepared);
    ASSERT_NO_THROW(Evaluate(prepared, made.symbols, MemoryOf(backwards), {.backwards = true})) << Print(prepared);
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(before[i].memory, after[i].memory) << "@" << i << "\n" << Print(made.kernel) << Print(prepared);
    }
    if (Print(prepared) != Print(made.kernel)) ++changed;
  }
  EXPECT_GT(changed, 100);
}

TEST(PrepareForCudaTest, ParallelLoopsInsideOneAnotherBecomeOne) {
  EXPECT_EQ(Prepared(R"(kernel(%0, %1) {
  %2 = i64 constant 1
  input @0 f32 [%0] strides [%2]
  output @1 f32 [%0, %1] strides [%1, %2]
  parallel %3 < %0 {
    %4 = f32 load @0 [%3]
    parallel %5 < %1 {
      store @1 [%3, %5], %4
    }
  }
})"),
            R"(kernel(%0, %1) {
  %2 = i64 constant 1
  %3 = i64 constant 0
  %4 = i64 maximum %0, %3
  %5 = i64 multiply %4, %1
  input @0 f32 [%0] strides [%2]
  output @1 f32 [%0, %1] strides [%1, %2]
  parallel %6 < %5 {
    %7 = i64 divide %6, %1
    %8 = i64 multiply %7, %1
    %9 = i64 subtract %6, %8
    %10 = f32 load @0 [%7]
    store @1 [%7, %9], %10
  }
}
)");
}

// Two loops without rounds are not one with rounds.
TEST(PrepareForCudaTest, NegativeExtentsStayWithoutRounds) {
  const Kernel kernel = Parse(R"(kernel(%0, %1) {
  %2 = i64 constant 0
  %3 = i64 constant 7
  output @0 i64 [] strides []
  parallel %4 < %0 {
    parallel %5 < %1 {
      store @0 [], %3
    }
  }
})");
  for (const int64_t m : {-1, 0, 1}) {
    for (const int64_t n : {-1, 0, 1}) {
      int64_t output = 0;
      const std::vector<BufferMemory> buffers = {{std::as_writable_bytes(std::span(&output, 1))}};
      Evaluate(PrepareForCuda(kernel), std::vector<int64_t>{m, n}, buffers);
      EXPECT_EQ(output, m == 1 && n == 1 ? 7 : 0) << m << " " << n;
    }
  }
}

TEST(PrepareForCudaTest, LoopsStayWhereOneWouldBeAnother) {
  const std::string before_inner_loop[] = {
      // Stored once a round, whether or not the inner loop has rounds.
      "    store @1 [%3], %2\n",
      // Computed for each round of the outer loop.
      "    parallel %4 < %0 {\n      store @1 [%4], %2\n    }\n",
  };
  for (const std::string& statements : before_inner_loop) {
    const std::string index = statements.find("%4") == std::string::npos ? "%4" : "%5";
    const std::string text = R"(kernel(%0, %1) {
  %2 = f32 constant 1
  output @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  output @2 f32 [%0, %1] strides [%1, %1]
  parallel %3 < %0 {
)" + statements + "    parallel " +
                             index + " < %1 {\n      store @2 [%3, " + index + "], %2\n    }\n  }\n}\n";
    EXPECT_EQ(Prepared(text), text);
  }
  const std::string loaded_before_it_is_stored = R"(kernel(%0) {
  %1 = i64 constant 0
  %2 = i64 constant 1
  output @0 i64 [%0, %0] strides [%0, %2]
  parallel %3 < %0 {
    %4 = i64 load @0 [%3, %1]
    parallel %5 < %0 {
      store @0 [%3, %5], %4
    }
  }
}
)";
  EXPECT_EQ(Prepared(loaded_before_it_is_stored), loaded_before_it_is_stored);
  const std::string extent_of_round = R"(kernel(%0) {
  %1 = i64 constant 1
  input @0 i64 [%0] strides [%1]
  output @1 i64 [%0, %0] strides [%0, %1]
  parallel %2 < %0 {
    %3 = i64 load @0 [%2]
    parallel %4 < %3 {
      store @1 [%2, %4], %4
    }
  }
}
)";
  EXPECT_EQ(Prepared(extent_of_round), extent_of_round);
  const std::string with_local = R"(kernel(%0) {
  %1 = i64 constant 1
  output @0 i64 [%0, %0] strides [%0, %1]
  local @1 i64 [%0]
  parallel %2 < %0 {
    parallel %3 < %0 {
      store @1 [%3], %2
      %4 = i64 load @1 [%3]
      store @0 [%2, %3], %4
    }
  }
}
)";
  EXPECT_EQ(Prepared(with_local), with_local);
}

}  // namespace
}  // namespace hearth::fuser
