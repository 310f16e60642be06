// What a warp or a block computes of small kernels.
#include "jit/fuser/cuda/spread_rounds.h"

#include <gtest/gtest.h>

#include <string>

#include "jit/fuser/cuda/cuda_source_testing.h"
#include "jit/fuser/ir/softmax_testing.h"

namespace hearth::fuser {
namespace {

// Where rows are short, each warp has one of its own, with its own part of the block's memory.
TEST(SpreadRoundsTest, AWarpComputesTheSoftmaxOfAShortRow) {
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

// The row's partial results are in shared memory, and so is its local buffer. Threads meet in each reduction, so that
// the last loop may read what others wrote, and before the next row.
TEST(SpreadRoundsTest, ABlockComputesTheSoftmaxOfARow) {
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

// Rounds of different threads store to y, and each row begins with what was stored at its end.
TEST(SpreadRoundsTest, ThreadsMeetWhereOneLoadsWhatAnotherStored) {
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

}  // namespace
}  // namespace hearth::fuser
