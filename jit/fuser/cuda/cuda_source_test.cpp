// The source that small kernels become.
#include "jit/fuser/cuda/cuda_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/generate_cuda.h"
#include "jit/fuser/cuda/prepare.h"
#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/softmax_testing.h"
#include "jit/fuser/ir/unsupported.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string SourceOf(const std::string& text) {
  const Kernel kernel = Parse(text);
  Verify(kernel);
  return CudaSource(kernel);
}

// Of a source, from the line that begins a function to its end.
std::string FunctionOf(const std::string& source, const std::string& name) {
  const size_t begin = source.find(name + "(const Arguments a) {\n");
  if (begin == std::string::npos) return "there is no " + name + " in\n" + source;
  return source.substr(begin, source.find("\n}\n", begin) + 3 - begin);
}

// Of a kernel of the symbols %0 and %1.
std::string WithConstantSizes(std::string_view text, int64_t rows, int64_t columns) {
  constexpr std::string_view kSymbols = "kernel(%0, %1) {\n";
  return "kernel() {\n  %0 = i64 constant " + std::to_string(rows) + "\n  %1 = i64 constant " +
         std::to_string(columns) + "\n" + std::string(text.substr(kSymbols.size()));
}

TEST(CudaSourceTest, HalvesAreComputedInFloat) {
  EXPECT_EQ(SourceOf(R"(kernel(%0) {
  %1 = i64 constant 1
  input @0 f16 [%0] strides [%1]
  output @1 f16 [%0] strides [%1]
  parallel %2 < %0 {
    %3 = f16 load @0 [%2]
    %4 = f32 cast %3
    %5 = f32 erf %4
    %6 = f16 cast %5
    store @1 [%2], %6
  }
}
)"),
            R"cuda(// Elements that are loaded or stored at once.
template <class T, int kSize>
struct __align__(sizeof(T) * kSize) Vector {
  T of[kSize];
};

__device__ float FloatOfHalf(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ unsigned short HalfOfFloat(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

struct Arguments {
  const unsigned short* b0;
  unsigned short* b1;
  long long v0;
  long long rounds;
};

extern "C" __global__ void __launch_bounds__(256) loop_0(const Arguments a) {
  const unsigned thread = (unsigned)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned threads = (unsigned)gridDim.x * blockDim.x;
  const unsigned in_vectors = (unsigned long long)a.b0 % 16 == 0 && (unsigned long long)a.b1 % 16 == 0 ? (unsigned)a.rounds / 8 * 8 : 0;
  for (unsigned long long first = thread * 8ULL; first < in_vectors; first += threads * 8ULL) {
    const Vector<unsigned short, 8> loaded3 = *(const Vector<unsigned short, 8>*)(a.b0 + first);
    Vector<unsigned short, 8> stored1;
    #pragma unroll
    for (int part = 0; part < 8; ++part) {
      const int v2 = (int)first + part;
      const unsigned short v3 = loaded3.of[part];
      const float v4 = FloatOfHalf(v3);
      const float v5 = erff(v4);
      const unsigned short v6 = HalfOfFloat(v5);
      stored1.of[part] = v6;
    }
    *(Vector<unsigned short, 8>*)(a.b1 + first) = stored1;
  }
  for (unsigned round = in_vectors + thread; round < (unsigned)a.rounds; round += threads) {
    const int v2 = round;
    const unsigned short v3 = __ldg(&a.b0[v2]);
    const float v4 = FloatOfHalf(v3);
    const float v5 = erff(v4);
    const unsigned short v6 = HalfOfFloat(v5);
    a.b1[v2] = v6;
  }
}

extern "C" __global__ void __launch_bounds__(256) loop_0_wide(const Arguments a) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long round = thread; round < a.rounds; round += threads) {
    const long long v2 = round;
    const unsigned short v3 = __ldg(&a.b0[v2]);
    const float v4 = FloatOfHalf(v3);
    const float v5 = erff(v4);
    const unsigned short v6 = HalfOfFloat(v5);
    a.b1[v2] = v6;
  }
}
)cuda");
}

// Where rows are short, each warp has one of its own, with its own part of the block's memory.
TEST(CudaSourceTest, AWarpComputesTheSoftmaxOfAShortRow) {
  const std::string source = SourceOf(WithConstantSizes(kSoftmax, 9, 100));
  EXPECT_EQ(FunctionOf(source, "loop_0"), R"cuda(loop_0(const Arguments a) {
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned round = (unsigned)blockIdx.x * 4 + warp; round < (unsigned)a.rounds; round += (unsigned)gridDim.x * 4) {
    const int v3 = round;
    float b2[4];
    Vector<float, 2> kept5[2];
    float p6 = __int_as_float(0xff800000);
    #pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      const int first = (chunk * 32 + (int)lane) * 2;
      if (first < 100) {
        const int v4 = first;
        kept5[chunk] = LoadVector<float, 2>(&a.b0[(int)((unsigned)v3 * (unsigned)100 + (unsigned)v4)]);
        const Vector<float, 2> loaded5 = kept5[chunk];
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int v4 = first + part;
          const float v5 = loaded5.of[part];
          p6 = Largest()(p6, v5);
        }
      }
    }
    const float v6 = WarpReduce(p6, Largest());
    float p11 = 0.0f;
    #pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      const int first = (chunk * 32 + (int)lane) * 2;
      if (first < 100) {
        const int v7 = first;
        const Vector<float, 2> loaded8 = kept5[chunk];
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int v7 = first + part;
          const float v8 = loaded8.of[part];
          const float v9 = v8 - v6;
          const float v10 = expf(v9);
          b2[chunk * 2 + part] = v10;
          p11 = Sum()(p11, v10);
        }
      }
    }
    const float v11 = WarpReduce(p11, Sum());
    #pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      const int first = (chunk * 32 + (int)lane) * 2;
      if (first < 100) {
        const int v12 = first;
        Vector<float, 2> stored1;
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int v12 = first + part;
          const float v13 = b2[chunk * 2 + part];
          const float v14 = v13 / v11;
          stored1.of[part] = v14;
        }
        *(Vector<float, 2>*)&a.b1[(int)((unsigned)v3 * (unsigned)100 + (unsigned)v12)] = stored1;
      }
    }
  }
}
)cuda");
}

// A long row is a warp's where there are enough of them for all, else a block's, with a thread for each vector; so is a
// row without a constant size. Local buffers are in registers unless each thread would have many.
TEST(CudaSourceTest, TheNumberAndLengthOfRowsSayWhatComputesOne) {
  const auto loop_of = [](const std::string& text) { return DeviceLoopsOf(PrepareForCuda(Parse(text))).at(0); };
  const auto softmax = [&](int64_t rows, int64_t columns) {
    return loop_of(WithConstantSizes(kSoftmax, rows, columns));
  };
  const DeviceLoop warps{.threads = 128, .threads_per_round = 32, .alignment = 16, .has_locals_in_registers = true};
  const auto block = [](uint32_t threads, uint32_t alignment, bool has_locals_in_registers) {
    return DeviceLoop{.threads = threads,
                      .threads_per_round = threads,
                      .alignment = alignment,
                      .has_locals_in_registers = has_locals_in_registers};
  };
  EXPECT_EQ(softmax(1, 128), warps);
  EXPECT_EQ(softmax(2047, 129), block(160, 4, true));
  EXPECT_EQ(softmax(2047, 512), block(128, 16, true));
  EXPECT_EQ(softmax(2048, 1024), warps);
  EXPECT_EQ(softmax(2048, 1025), block(256, 4, true));
  EXPECT_EQ(softmax(1, 16384), block(512, 16, true));
  EXPECT_EQ(softmax(1, 1 << 16), block(1024, 16, false));
  EXPECT_EQ(loop_of(kSoftmax), block(256, 1, false));
}

// The row's partial results are in shared memory, and so is its local buffer. Threads meet in each reduction, so that
// the last loop may read what others wrote, and before the next row.
TEST(CudaSourceTest, ABlockComputesTheSoftmaxOfARow) {
  const std::string source = SourceOf(kSoftmax);
  EXPECT_EQ(FunctionOf(source, "loop_0"), R"cuda(loop_0(const Arguments a) {
  const int v1 = (int)a.v1;
  extern __shared__ __align__(64) unsigned char scratch[];
  unsigned char* free_scratch = scratch;
  float* const b2 = (float*)free_scratch;
  free_scratch += (4LL * Maximum<long long>((long long)v1, 0) + 63) / 64 * 64;
  __shared__ float partial6[32];
  __shared__ float partial11[32];
  for (unsigned round = blockIdx.x; round < (unsigned)a.rounds; round += gridDim.x) {
    const int v3 = round;
    float p6 = __int_as_float(0xff800000);
    for (int v4 = threadIdx.x; v4 < v1; v4 += blockDim.x) {
      const float v5 = __ldg(&a.b0[(int)((unsigned)v3 * (unsigned)v1 + (unsigned)v4)]);
      p6 = Largest()(p6, v5);
    }
    const float v6 = BlockReduce(p6, __int_as_float(0xff800000), partial6, Largest());
    float p11 = 0.0f;
    for (int v7 = threadIdx.x; v7 < v1; v7 += blockDim.x) {
      const float v8 = __ldg(&a.b0[(int)((unsigned)v3 * (unsigned)v1 + (unsigned)v7)]);
      const float v9 = v8 - v6;
      const float v10 = expf(v9);
      b2[(int)((unsigned)v7)] = v10;
      p11 = Sum()(p11, v10);
    }
    const float v11 = BlockReduce(p11, 0.0f, partial11, Sum());
    for (int v12 = threadIdx.x; v12 < v1; v12 += blockDim.x) {
      const float v13 = b2[(int)((unsigned)v12)];
      const float v14 = v13 / v11;
      a.b1[(int)((unsigned)v3 * (unsigned)v1 + (unsigned)v12)] = v14;
    }
    __syncthreads();
  }
}
)cuda");
}

// What of a function's lines has one of these in it, without indentation.
std::string LinesWith(const std::string& function, const std::vector<std::string>& parts) {
  std::istringstream lines(function);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    const bool has_any =
        std::ranges::any_of(parts, [&](const std::string& part) { return line.find(part) != std::string::npos; });
    if (has_any) found += line.substr(line.find_first_not_of(' ')) + "\n";
  }
  return found;
}

// Of differences to the largest element, in rows of so many that lie so far apart.
std::string DifferencesOf(const std::string& columns, const std::string& stride) {
  return R"(kernel(%0, %1) {
  %2 = i64 constant 1
  %3 = i64 constant )" +
         columns + R"(
  %4 = i64 )" +
         stride + R"(
  input @0 f16 [%0, %3] strides [%4, %2]
  output @1 f32 [%0, %3] strides [%3, %2]
  parallel %5 < %0 {
    %9 = reduce %6 < %3 {
      %7 = f16 load @0 [%5, %6]
      %8 = f32 cast %7
      yield maximum %8
    }
    parallel %10 < %3 {
      %11 = f16 load @0 [%5, %10]
      %12 = f32 cast %11
      %13 = f32 subtract %12, %9
      store @1 [%5, %10], %13
    }
  }
})";
}

// As many elements as the widest has in 16 bytes, or a factor of what rows have and how far they are apart; what is
// loaded twice stays in registers.
TEST(CudaSourceTest, RowsAreLoadedAndStoredAsVectors) {
  const auto accesses_of = [](const std::string& columns, const std::string& stride) {
    return LinesWith(FunctionOf(SourceOf(DifferencesOf(columns, stride)), "loop_0"),
                     {"for (int chunk", "first =", "if (first", "LoadVector", "kept", "*(Vector"});
  };
  EXPECT_EQ(
      accesses_of("1024", "constant 1024"),
      "Vector<unsigned short, 4> kept7[1];\n"
      "for (int chunk = 0; chunk < 1; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 4;\n"
      "kept7[chunk] = LoadVector<unsigned short, 4>(&a.b0[(int)((unsigned)v5 * (unsigned)1024 + (unsigned)v6)]);\n"
      "const Vector<unsigned short, 4> loaded7 = kept7[chunk];\n"
      "for (int chunk = 0; chunk < 1; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 4;\n"
      "const Vector<unsigned short, 4> loaded11 = kept7[chunk];\n"
      "*(Vector<float, 4>*)&a.b1[(int)((unsigned)v5 * (unsigned)1024 + (unsigned)v10)] = stored1;\n");
  EXPECT_EQ(
      accesses_of("1024", "constant 1026"),
      "Vector<unsigned short, 2> kept7[2];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 2;\n"
      "kept7[chunk] = LoadVector<unsigned short, 2>(&a.b0[(int)((unsigned)v5 * (unsigned)1026 + (unsigned)v6)]);\n"
      "const Vector<unsigned short, 2> loaded7 = kept7[chunk];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 2;\n"
      "const Vector<unsigned short, 2> loaded11 = kept7[chunk];\n"
      "*(Vector<float, 2>*)&a.b1[(int)((unsigned)v5 * (unsigned)1024 + (unsigned)v10)] = stored1;\n");
  EXPECT_EQ(
      accesses_of("1022", "constant 1022"),
      "Vector<unsigned short, 2> kept7[2];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 2;\n"
      "if (first < 1022) {\n"
      "kept7[chunk] = LoadVector<unsigned short, 2>(&a.b0[(int)((unsigned)v5 * (unsigned)1022 + (unsigned)v6)]);\n"
      "const Vector<unsigned short, 2> loaded7 = kept7[chunk];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 256 + (int)threadIdx.x) * 2;\n"
      "if (first < 1022) {\n"
      "const Vector<unsigned short, 2> loaded11 = kept7[chunk];\n"
      "*(Vector<float, 2>*)&a.b1[(int)((unsigned)v5 * (unsigned)1022 + (unsigned)v10)] = stored1;\n");
  EXPECT_EQ(accesses_of("1024", "add %1, %2"),
            "Vector<unsigned short, 1> kept7[4];\n"
            "for (int chunk = 0; chunk < 4; ++chunk) {\n"
            "const int first = (chunk * 256 + (int)threadIdx.x) * 1;\n"
            "kept7[chunk] = LoadVector<unsigned short, 1>(&a.b0[(int)((unsigned)v5 * (unsigned)v4 + (unsigned)v6)]);\n"
            "const Vector<unsigned short, 1> loaded7 = kept7[chunk];\n"
            "for (int chunk = 0; chunk < 4; ++chunk) {\n"
            "const int first = (chunk * 256 + (int)threadIdx.x) * 1;\n"
            "const Vector<unsigned short, 1> loaded11 = kept7[chunk];\n"
            "*(Vector<float, 1>*)&a.b1[(int)((unsigned)v5 * (unsigned)1024 + (unsigned)v10)] = stored1;\n");
  EXPECT_EQ(
      accesses_of("60", "constant 1024"),
      "Vector<unsigned short, 1> kept7[2];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 32 + (int)lane) * 1;\n"
      "if (first < 60) {\n"
      "kept7[chunk] = LoadVector<unsigned short, 1>(&a.b0[(int)((unsigned)v5 * (unsigned)1024 + (unsigned)v6)]);\n"
      "const Vector<unsigned short, 1> loaded7 = kept7[chunk];\n"
      "for (int chunk = 0; chunk < 2; ++chunk) {\n"
      "const int first = (chunk * 32 + (int)lane) * 1;\n"
      "if (first < 60) {\n"
      "const Vector<unsigned short, 1> loaded11 = kept7[chunk];\n"
      "*(Vector<float, 1>*)&a.b1[(int)((unsigned)v5 * (unsigned)60 + (unsigned)v10)] = stored1;\n");
}

// Of a long row only so much is written out, and nothing is kept in registers.
TEST(CudaSourceTest, ALongRowIsGoneOverInALoop) {
  EXPECT_EQ(LinesWith(FunctionOf(SourceOf(DifferencesOf("262144", "constant 262144")), "loop_0"),
                      {"unroll ", "for (int chunk", "kept"}),
            "#pragma unroll 8\n"
            "for (int chunk = 0; chunk < 64; ++chunk) {\n"
            "#pragma unroll 8\n"
            "for (int chunk = 0; chunk < 64; ++chunk) {\n");
}

// Without constants, in 64 bits, or where memory is not aligned.
TEST(CudaSourceTest, OtherRowsAreSpreadElementByElement) {
  const std::string source = SourceOf(DifferencesOf("1024", "constant 1024"));
  EXPECT_THAT(FunctionOf(source, "loop_0_wide"), Not(HasSubstr("chunk")));
  EXPECT_THAT(FunctionOf(SourceOf(kSoftmax), "loop_0"), Not(HasSubstr("chunk")));
  EXPECT_EQ(DeviceLoopsOf(PrepareForCuda(Parse(DifferencesOf("1024", "constant 1024")))).at(0).alignment, 16U);
}

// The first loop gathers; the second stores to what it loads: neighbours in memory are then neighbouring threads'.
TEST(CudaSourceTest, WhatIsNoVectorIsAccessedByNeighbouringThreads) {
  const std::string source = SourceOf(R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = i64 constant 1024
  input @0 i64 [%0, %2] strides [%2, %1]
  input @1 f32 [%0, %2] strides [%2, %1]
  output @2 f32 [%0, %2] strides [%2, %1]
  parallel %3 < %0 {
    %7 = reduce %4 < %2 {
      %5 = i64 load @0 [%3, %4]
      %6 = f32 load @1 [%3, %5]
      yield sum %6
    }
    parallel %8 < %2 {
      %9 = f32 load @2 [%3, %8]
      %10 = f32 add %9, %7
      store @2 [%3, %8], %10
    }
  }
})");
  EXPECT_EQ(LinesWith(FunctionOf(source, "loop_0"), {"first =", "LoadVector", "a.b"}),
            "const int first = (chunk * 256 + (int)threadIdx.x) * 1;\n"
            "const Vector<long long, 1> loaded5 = LoadVector<long long, 1>(&a.b0[(int)((unsigned)v3 * (unsigned)1024 + "
            "(unsigned)v4)]);\n"
            "const float v6 = __ldg(&a.b1[(int)((unsigned)v3 * (unsigned)1024 + (unsigned)v5)]);\n"
            "const int first = (chunk * 256 + (int)threadIdx.x) * 1;\n"
            "const float v9 = a.b2[(int)((unsigned)v3 * (unsigned)1024 + (unsigned)v8)];\n"
            "a.b2[(int)((unsigned)v3 * (unsigned)1024 + (unsigned)v8)] = v10;\n");
}

// A local buffer that is accessed at other places, or in loops of two lengths, is in scratch.
TEST(CudaSourceTest, LocalBuffersOfManyThreadsAreInScratch) {
  const auto softmax = WithConstantSizes(kSoftmax, 4096, 512);
  EXPECT_THAT(FunctionOf(SourceOf(softmax), "loop_0"), Not(HasSubstr("scratch")));
  std::string shifted = softmax;
  const std::string load = "load @2 [%12]";
  shifted.replace(shifted.find(load), load.size(), "load @2 [%3]");
  EXPECT_THAT(FunctionOf(SourceOf(shifted), "loop_0"), HasSubstr("scratch"));
}

TEST(CudaSourceTest, ARoundMayStoreToTwoOutputs) {
  const std::string source = SourceOf(R"(kernel(%0, %1 f64) {
  %2 = i64 constant 1
  %3 = f32 cast %1
  input @0 f32 [%0] strides [%2]
  output @1 f32 [%0] strides [%2]
  output @2 b1 [%0] strides [%2]
  parallel %4 < %0 {
    %5 = f32 load @0 [%4]
    %6 = f32 multiply %5, %3
    store @1 [%4], %6
    %7 = b1 less %5, %3
    store @2 [%4], %7
  }
}
)");
  EXPECT_EQ(FunctionOf(source, "loop_0"), R"cuda(loop_0(const Arguments a) {
  const double v1 = a.v1;
  const float v3 = (float)v1;
  const unsigned thread = (unsigned)blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned threads = (unsigned)gridDim.x * blockDim.x;
  const unsigned in_vectors = (unsigned long long)a.b0 % 16 == 0 && (unsigned long long)a.b1 % 16 == 0 && (unsigned long long)a.b2 % 4 == 0 ? (unsigned)a.rounds / 4 * 4 : 0;
  for (unsigned long long first = thread * 4ULL; first < in_vectors; first += threads * 4ULL) {
    const Vector<float, 4> loaded5 = *(const Vector<float, 4>*)(a.b0 + first);
    Vector<float, 4> stored1;
    Vector<unsigned char, 4> stored2;
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int v4 = (int)first + part;
      const float v5 = loaded5.of[part];
      const float v6 = v5 * v3;
      stored1.of[part] = v6;
      const bool v7 = v5 < v3;
      stored2.of[part] = v7;
    }
    *(Vector<float, 4>*)(a.b1 + first) = stored1;
    *(Vector<unsigned char, 4>*)(a.b2 + first) = stored2;
  }
  for (unsigned round = in_vectors + thread; round < (unsigned)a.rounds; round += threads) {
    const int v4 = round;
    const float v5 = __ldg(&a.b0[v4]);
    const float v6 = v5 * v3;
    a.b1[v4] = v6;
    const bool v7 = v5 < v3;
    a.b2[v4] = v7;
  }
}
)cuda");
  EXPECT_THAT(source, HasSubstr(R"cuda(
struct Arguments {
  const float* b0;
  float* b1;
  unsigned char* b2;
  long long v0;
  double v1;
  long long rounds;
};
)cuda"));
}

// Images that lie channels-last times numbers of their channels: where vectors do not cross rows, the numbers of an
// image's channels are loaded as vectors, too, and a thread looks for its image once.
TEST(CudaSourceTest, VectorsWithinRowsLoadWhatIsBroadcastAsVectors) {
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
TEST(CudaSourceTest, AGatherLoadsOnlyWhereItMay) {
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

// Rounds of different threads store to y, and each row begins with what was stored at its end.
TEST(CudaSourceTest, ThreadsMeetWhereOneLoadsWhatAnotherStored) {
  const std::string source = SourceOf(R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = i64 constant 0
  output @0 f32 [%0] strides [%1]
  local @1 f32 [%0]
  parallel %3 < %0 {
    %4 = f32 load @0 [%3]
    store @1 [%2], %4
    %5 = f32 load @1 [%2]
    store @0 [%3], %5
    parallel %6 < %0 {
      store @1 [%6], %5
    }
  }
})");
  EXPECT_EQ(FunctionOf(source, "loop_0"), R"cuda(loop_0(const Arguments a) {
  const int v0 = (int)a.v0;
  extern __shared__ __align__(64) unsigned char scratch[];
  unsigned char* free_scratch = scratch;
  float* const b1 = (float*)free_scratch;
  free_scratch += (4LL * Maximum<long long>((long long)v0, 0) + 63) / 64 * 64;
  for (unsigned round = blockIdx.x; round < (unsigned)a.rounds; round += gridDim.x) {
    const int v3 = round;
    const float v4 = a.b0[v3];
    if (threadIdx.x == 0) {
      b1[(int)((unsigned)0)] = v4;
    }
    __syncthreads();
    const float v5 = b1[(int)((unsigned)0)];
    if (threadIdx.x == 0) {
      a.b0[v3] = v5;
    }
    __syncthreads();
    for (int v6 = threadIdx.x; v6 < v0; v6 += blockDim.x) {
      b1[(int)((unsigned)v6)] = v5;
    }
    __syncthreads();
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
TEST(CudaSourceTest, NeighboursAreLoadedAndStoredAsVectors) {
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
TEST(CudaSourceTest, NeighboursUnderAConditionAreLoadedAsVectors) {
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
TEST(CudaSourceTest, OtherDivisionsOfTheIndexAreNoRows) {
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

TEST(CudaSourceTest, RoundsOfMuchWorkAreFewerInAVector) {
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

TEST(CudaSourceTest, WhatIsRefusedIsNamed) {
  const std::string scan = R"(kernel(%0) {
  %1 = i64 constant 1
  output @0 f32 [%0] strides [%1]
  local @1 f32 [%0]
  parallel %2 < %0 {
    %3 = f32 constant 1
    sequential %4 < %0 {
      store @1 [%4], %3
    }
    %5 = f32 load @1 [%2]
    store @0 [%2], %5
  }
})";
  EXPECT_THAT([&] { SourceOf(scan); }, ThrowsMessage<Unsupported>(HasSubstr("sequential %4 < %0")));

  KernelBuilder reductions;
  const ValueId n = reductions.Symbol();
  const BufferId x = reductions.Input(Dtype::kFloat32, {n}, {reductions.Integer(1)});
  const BufferId y = reductions.Output(Dtype::kFloat32, {n}, {reductions.Integer(1)});
  reductions.Parallel(n, [&](ValueId i) {
    for (int number = 0; number < 100; ++number) {
      const std::vector<ValueId> sum = reductions.Reduce(n, [&](ValueId j) {
        const ValueId element = reductions.Load(x, {j});
        const ValueId other = reductions.Constant(Dtype::kFloat32, number);
        return std::vector<KernelBuilder::Reduced>{
            {Reduction::kSum, reductions.Call(Opcode::kMultiply, {element, other})}};
      });
      reductions.Store(y, {i}, sum[0]);
    }
  });
  const Kernel many_reductions = reductions.Finish();
  EXPECT_THAT([&] { CudaSource(many_reductions); }, ThrowsMessage<Unsupported>(HasSubstr("reductions")));

  KernelBuilder symbols;
  for (int i = 0; i < 5000; ++i) symbols.Symbol();
  const Kernel many_symbols = symbols.Finish();
  EXPECT_THAT([&] { CudaSource(many_symbols); }, ThrowsMessage<Unsupported>(HasSubstr("symbols")));
}

// In a round of one thread, they are its own.
TEST(CudaSourceTest, AThreadRunsSequentialLoops) {
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
