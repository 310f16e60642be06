// Rows of constant lengths, in chunks.
#include "jit/fuser/cuda/row_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "jit/fuser/cuda/cuda_source_testing.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/prepare.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/softmax_testing.h"

namespace hearth::fuser {
namespace {

using testing::HasSubstr;
using testing::Not;

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
TEST(RowChunksTest, RowsAreLoadedAndStoredAsVectors) {
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
TEST(RowChunksTest, ALongRowIsGoneOverInALoop) {
  EXPECT_EQ(LinesWith(FunctionOf(SourceOf(DifferencesOf("262144", "constant 262144")), "loop_0"),
                      {"unroll ", "for (int chunk", "kept"}),
            "#pragma unroll 8\n"
            "for (int chunk = 0; chunk < 64; ++chunk) {\n"
            "#pragma unroll 8\n"
            "for (int chunk = 0; chunk < 64; ++chunk) {\n");
}

// Without constants, in 64 bits, or where memory is not aligned.
TEST(RowChunksTest, OtherRowsAreSpreadElementByElement) {
  const std::string source = SourceOf(DifferencesOf("1024", "constant 1024"));
  EXPECT_THAT(FunctionOf(source, "loop_0_wide"), Not(HasSubstr("chunk")));
  EXPECT_THAT(FunctionOf(SourceOf(kSoftmax), "loop_0"), Not(HasSubstr("chunk")));
  EXPECT_EQ(DeviceLoopsOf(PrepareForCuda(Parse(DifferencesOf("1024", "constant 1024")))).at(0).alignment, 16U);
}

// The first loop gathers; the second stores to what it loads: neighbours in memory are then neighbouring threads'.
TEST(RowChunksTest, WhatIsNoVectorIsAccessedByNeighbouringThreads) {
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
TEST(RowChunksTest, LocalBuffersOfManyThreadsAreInScratch) {
  const auto softmax = WithConstantSizes(kSoftmax, 4096, 512);
  EXPECT_THAT(FunctionOf(SourceOf(softmax), "loop_0"), Not(HasSubstr("scratch")));
  std::string shifted = softmax;
  const std::string load = "load @2 [%12]";
  shifted.replace(shifted.find(load), load.size(), "load @2 [%3]");
  EXPECT_THAT(FunctionOf(SourceOf(shifted), "loop_0"), HasSubstr("scratch"));
}

}  // namespace
}  // namespace hearth::fuser
