// What a thread computes of small kernels: one round, or several as vectors.
#include "jit/fuser/cuda/thread_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "jit/fuser/cuda/cuda_source_testing.h"
#include "jit/fuser/cuda/generate_cuda.h"
#include "jit/fuser/ir/builder.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::Not;

// Images that lie channels-last times numbers of their channels: where vectors do not cross rows, the numbers of an
// image's channels are loaded as vectors, too, and a thread looks for its image once.
TEST(ThreadRoundsTest, VectorsWithinRowsLoadWhatIsBroadcastAsVectors) {
  const std::string source = SourceOf(R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = i64 constant 32
  %3 = i64 constant 49
  %4 = i64 multiply %0, %3
  input @0 f16 [%4, %2] strides [%2, %1]
  input @1 f16 [%0, %2] strides [%2, %1]
  output @2 f16 [%4, %2] strides [%2, %1]
  parallel %5 < %4 {
    %6 = i64 floor_divide %5, %3
    parallel %7 < %2 {
      %8 = f16 load @0 [%5, %7]
      %9 = f16 load @1 [%6, %7]
      %10 = f32 cast %8
      %11 = f32 cast %9
      %12 = f32 multiply %10, %11
      %13 = f16 cast %12
      store @2 [%5, %7], %13
    }
  }
}
)");
  const std::string loop = FunctionOf(source, "loop_0");
  EXPECT_THAT(loop, HasSubstr("(unsigned long long)a.b1 % 16 == 0"));
  EXPECT_THAT(loop, HasSubstr("    const int quotient = (unsigned)first / (unsigned)32;\n"
                              "    const int rest = (unsigned)first % (unsigned)32;\n"));
  EXPECT_THAT(loop, HasSubstr("if (part == 0) loaded"));
  EXPECT_THAT(loop, HasSubstr(" = rest + part;"));
  EXPECT_THAT(loop, Not(HasSubstr("++rest")));
}

// Rows of a table by number, 0 for those outside of it. What was loaded is compared in 64 bits, and only its low bits
// are needed of an address.
TEST(ThreadRoundsTest, AGatherLoadsOnlyWhereItMay) {
  const std::string source = SourceOf(R"(kernel(%0, %1, %2) {
  %3 = i64 constant 1
  %4 = i64 constant 0
  input @0 bf16 [%0, %1] strides [%2, %3]
  input @1 i64 [%0] strides [%3]
  output @2 bf16 [%0, %1] strides [%1, %3]
  parallel %5 < %0 {
    %6 = i64 load @1 [%5]
    %7 = b1 less_or_equal %4, %6
    %8 = b1 less %6, %0
    %9 = b1 and %7, %8
    parallel %10 < %1 {
      %11 = bf16 load_if %9, @0 [%6, %10]
      store @2 [%5, %10], %11
    }
  }
}
)");
  EXPECT_EQ(FunctionOf(source, "loop_0"), R"cuda(loop_0(const Arguments a) {
  const int v0 = (int)a.v0;
  const int v1 = (int)a.v1;
  const unsigned v2 = (unsigned)a.v2;
  const unsigned thread = (unsigned)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned threads = (unsigned)gridDim.x * blockDim.x;
  const unsigned in_vectors = (unsigned long long)a.b2 % 16 == 0 ? (unsigned)a.rounds / 8 * 8 : 0;
  for (unsigned long long first = thread * 8ULL; first < in_vectors; first += threads * 8ULL) {
    Vector<unsigned short, 8> stored2;
    int quotient = (unsigned)first / (unsigned)v1;
    int rest = (unsigned)first % (unsigned)v1;
    #pragma unroll
    for (int part = 0; part < 8; ++part) {
      const int v8 = (int)first + part;
      const int v9 = quotient;
      const int v10 = (int)((unsigned)v9 * (unsigned)v1);
      const int v11 = rest;
      const long long v12 = __ldg(&a.b1[v9]);
      const bool v13 = 0LL <= v12;
      const bool v14 = v12 < (long long)v0;
      const bool v15 = (bool)(v13 & v14);
      const unsigned short v16 = v15 ? __ldg(&a.b0[(int)((unsigned)v12 * (unsigned)v2 + (unsigned)v11)]) : (unsigned short)0x0;
      stored2.of[part] = v16;
      if (++rest == v1) {
        rest = 0;
        ++quotient;
      }
    }
    *(Vector<unsigned short, 8>*)(a.b2 + first) = stored2;
  }
  for (unsigned round = in_vectors + thread; round < (unsigned)a.rounds; round += threads) {
    const int v8 = round;
    const int v9 = Divide<int>(v8, v1);
    const int v10 = (int)((unsigned)v9 * (unsigned)v1);
    const int v11 = (int)((unsigned)v8 - (unsigned)v10);
    const long long v12 = __ldg(&a.b1[v9]);
    const bool v13 = 0LL <= v12;
    const bool v14 = v12 < (long long)v0;
    const bool v15 = (bool)(v13 & v14);
    const unsigned short v16 = v15 ? __ldg(&a.b0[(int)((unsigned)v12 * (unsigned)v2 + (unsigned)v11)]) : (unsigned short)0x0;
    a.b2[(int)((unsigned)v9 * (unsigned)v1 + (unsigned)v11)] = v16;
  }
}
)cuda");
  EXPECT_EQ(FunctionOf(source, "loop_0_wide"), R"cuda(loop_0_wide(const Arguments a) {
  const long long v0 = a.v0;
  const long long v1 = a.v1;
  const long long v2 = a.v2;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long round = thread; round < a.rounds; round += threads) {
    const long long v8 = round;
    const long long v9 = Divide<long long>(v8, v1);
    const long long v10 = (long long)((unsigned long long)v9 * (unsigned long long)v1);
    const long long v11 = (long long)((unsigned long long)v8 - (unsigned long long)v10);
    const long long v12 = __ldg(&a.b1[v9]);
    const bool v13 = 0LL <= v12;
    const bool v14 = v12 < v0;
    const bool v15 = (bool)(v13 & v14);
    const unsigned short v16 = v15 ? __ldg(&a.b0[v12 * v2 + v11]) : (unsigned short)0x0;
    a.b2[v9 * v1 + v11] = v16;
  }
}
)cuda");
}

std::string VectorsOf(const std::string& source) {
  std::string vectors;
  for (size_t at = source.find("*)(a."); at != std::string::npos; at = source.find("*)(a.", at + 1)) {
    const size_t begin = source.rfind("Vector<", at);
    vectors += source.substr(begin, source.find(')', at + 2) + 1 - begin) + "\n";
  }
  return vectors;
}

// A buffer of other strides, one that is loaded before it is stored and one at a place of its own are accessed round by
// round. The widest element says how many rounds are 16 bytes.
TEST(ThreadRoundsTest, NeighboursAreLoadedAndStoredAsVectors) {
  const std::string source = SourceOf(R"(kernel(%0, %1) {
  %2 = i64 constant 1
  %3 = i64 constant 2
  input @0 f16 [%0, %1] strides [%1, %2]
  input @1 f32 [%0, %1] strides [%1, %2]
  input @2 f32 [%0, %1] strides [%2, %0]
  input @3 f32 [%0, %1] strides [%1, %3]
  input @4 f32 [%1] strides [%2]
  output @5 f32 [%0, %1] strides [%1, %2]
  output @6 f32 [%0, %1] strides [%1, %2]
  parallel %4 < %0 {
    parallel %5 < %1 {
      %6 = f16 load @0 [%4, %5]
      %7 = f32 cast %6
      %8 = f32 load @1 [%4, %5]
      %9 = f32 load @2 [%4, %5]
      %10 = f32 load @3 [%4, %5]
      %11 = f32 load @4 [%5]
      %12 = f32 load @5 [%4, %5]
      %13 = f32 add %7, %8
      %14 = f32 add %9, %10
      %15 = f32 add %11, %12
      %16 = f32 add %13, %14
      %17 = f32 add %15, %16
      store @5 [%4, %5], %17
      store @6 [%4, %5], %17
    }
  }
})");
  EXPECT_EQ(VectorsOf(source),
            "Vector<unsigned short, 4>*)(a.b0 + first)\n"
            "Vector<float, 4>*)(a.b1 + first)\n"
            "Vector<float, 4>*)(a.b6 + first)\n");
}

// Neighbours along the inner index are loaded as vectors under a condition that no vector is partly under: of the outer
// index, or of a place that is a multiple of the width.
TEST(ThreadRoundsTest, NeighboursUnderAConditionAreLoadedAsVectors) {
  const std::string source = SourceOf(R"(kernel() {
  %0 = i64 constant 6
  %1 = i64 constant 1
  %2 = i64 constant 64
  %3 = i64 constant 40
  %4 = i64 constant 24
  %5 = i64 constant 20
  input @0 f16 [%0, %3] strides [%3, %1]
  input @1 f16 [%0, %4] strides [%4, %1]
  input @2 f16 [%0, %2] strides [%2, %1]
  input @3 f16 [%0, %5] strides [%2, %1]
  output @4 f16 [%0, %2] strides [%2, %1]
  parallel %6 < %0 {
    parallel %7 < %2 {
      %8 = b1 less %7, %3
      %9 = f16 load_if %8, @0 [%6, %7]
      %10 = b1 less_or_equal %3, %7
      %11 = i64 subtract %7, %3
      %12 = f16 load_if %10, @1 [%6, %11]
      %13 = b1 less %1, %6
      %14 = i64 subtract %6, %1
      %15 = f16 load_if %13, @2 [%14, %7]
      %16 = b1 less %7, %5
      %17 = f16 load_if %16, @3 [%6, %7]
      %18 = f32 cast %9
      %19 = f32 cast %12
      %20 = f32 cast %15
      %21 = f32 cast %17
      %22 = f32 add %18, %19
      %23 = f32 add %20, %21
      %24 = f32 add %22, %23
      %25 = f16 cast %24
      store @4 [%6, %7], %25
    }
  }
})");
  for (const char* buffer : {"b0", "b1", "b2"}) {
    EXPECT_NE(source.find("? *(const Vector<unsigned short, 8>*)(&a." + std::string(buffer)), std::string::npos)
        << source;
  }
  EXPECT_EQ(source.find("? *(const Vector<unsigned short, 8>*)(&a.b3"), std::string::npos) << source;
}

// An extent that is no factor of the number of rounds may be 0, by which nothing is divided.
TEST(ThreadRoundsTest, OtherDivisionsOfTheIndexAreNoRows) {
  const std::string source = SourceOf(R"(kernel(%0, %1) {
  %2 = i64 constant 1
  input @0 f32 [%0, %1] strides [%1, %2]
  output @1 f32 [%0] strides [%2]
  parallel %3 < %0 {
    %4 = i64 divide %3, %1
    %5 = i64 multiply %4, %1
    %6 = i64 subtract %3, %5
    %7 = f32 load @0 [%4, %6]
    store @1 [%3], %7
  }
})");
  EXPECT_EQ(VectorsOf(source), "Vector<float, 4>*)(a.b1 + first)\n");
  EXPECT_THAT(source, Not(HasSubstr("quotient")));
}

TEST(ThreadRoundsTest, RoundsOfMuchWorkAreFewerInAVector) {
  const auto width_of = [](int functions) {
    KernelBuilder k;
    const ValueId n = k.Symbol();
    const BufferId x = k.Input(Dtype::kFloat16, {n}, {k.Integer(1)});
    const BufferId y = k.Output(Dtype::kFloat16, {n}, {k.Integer(1)});
    k.Parallel(n, [&](ValueId i) {
      ValueId value = k.Cast(k.Load(x, {i}), Dtype::kFloat32);
      for (int function = 0; function < functions; ++function) value = k.Call(Opcode::kSin, {value});
      k.Store(y, {i}, k.Cast(value, Dtype::kFloat16));
    });
    const std::string vectors = VectorsOf(CudaSource(k.Finish()));
    return vectors.empty() ? "none" : vectors.substr(vectors.find(", ") + 2, 1);
  };
  EXPECT_EQ(width_of(0), "8");
  EXPECT_EQ(width_of(2), "8");
  EXPECT_EQ(width_of(3), "4");
  EXPECT_EQ(width_of(8), "2");
  EXPECT_EQ(width_of(9), "none");
}

// Where a thread computes a round, its sequential loops are no other thread's.
TEST(ThreadRoundsTest, AThreadRunsSequentialLoops) {
  const std::string source = SourceOf(R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = f32 constant 0
  input @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  parallel %3 < %1 {
    %8 = sequential %4 < %0 (%5 = %2) {
      %6 = f32 load @0 [%4]
      %7 = f32 add %5, %6
      store @1 [%4], %7
      yield %7
    }
  }
})");
  EXPECT_THAT(FunctionOf(source, "loop_0"), HasSubstr(R"cuda(
    float v8 = 0.0f;
    for (int v4 = 0; v4 < v0; v4 += 1) {
      const float v5 = v8;
      const float v6 = __ldg(&a.b0[v4]);
      const float v7 = v5 + v6;
      a.b1[v4] = v7;
      v8 = v7;
    }
)cuda"));
}

}  // namespace
}  // namespace hearth::fuser
