// The sources of small kernels as a whole, and what there is none for.
#include "jit/fuser/cuda/cuda_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/fuser/cuda/cuda_source_testing.h"
#include "jit/fuser/cuda/generate_cuda.h"
#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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

}  // namespace
}  // namespace hearth::fuser
