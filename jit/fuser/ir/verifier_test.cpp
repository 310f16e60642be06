#include "jit/fuser/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "jit/fuser/ir/parser.h"

namespace hearth::fuser {
namespace {

using ::testing::HasSubstr;

std::string VerdictOn(const Kernel& kernel) {
  try {
    Verify(kernel);
  } catch (const VerifyError& error) {
    return error.what();
  }
  return "sound";
}

// Of one loop's body, in which values from %7 on are free.
Kernel KernelWith(const std::string& body) {
  return Parse(R"(kernel(%0, %1 f64) {
    %2 = i64 constant 1
    %3 = f32 constant 1
    %4 = b1 constant true
    %5 = f16 constant 1
    input @0 f32 [%0] strides [%2]
    output @1 f32 [%0] strides [%2]
    local @2 b1 []
    parallel %6 < %0 {
)" + body + "}}");
}

std::string VerdictOnBody(const std::string& body) { return VerdictOn(KernelWith(body)); }

std::string VerdictOnText(const std::string& text) { return VerdictOn(Parse(text)); }

// Of a kernel that is sound but for what `change` does to it.
std::string VerdictAfter(const std::string& body, const std::function<void(Kernel&, Loop&)>& change) {
  Kernel kernel = KernelWith(body);
  EXPECT_EQ(VerdictOn(kernel), "sound");
  change(kernel, *kernel.body[0].loop);
  return VerdictOn(kernel);
}

TEST(KernelVerifierTest, ValuesAreNumberedInTheOrderOfTheirDefinitions) {
  EXPECT_EQ(VerdictOnBody("%7 = f32 exp %3"), "sound");
  EXPECT_EQ(VerdictOnBody("%8 = f32 exp %3"), "the next value is %7, and %8 is defined, in\n  %8 = f32 exp %3");
  EXPECT_EQ(VerdictOnBody("%3 = f32 exp %3"), "the next value is %7, and %3 is defined, in\n  %3 = f32 exp %3");
  EXPECT_EQ(VerdictAfter("", [](Kernel& kernel, Loop&) { kernel.num_values = 5; }),
            "num_values is 5, and 7 are defined");
  EXPECT_THAT(VerdictOnBody("%8 = reduce %7 < %0 { %9 = f32 exp %3 yield sum %9 }"), HasSubstr("the next value is %8"));
}

TEST(KernelVerifierTest, ValuesAreUsedWhereTheyAreInScope) {
  EXPECT_EQ(VerdictOnBody("%7 = f32 exp %7"), "%7 is not defined here, in\n  %7 = f32 exp %7");
  EXPECT_EQ(VerdictOnBody("parallel %7 < %0 { %8 = f32 exp %3 } %9 = f32 exp %8"),
            "%8 is defined in a loop that has ended, in\n  %9 = f32 exp %8");
  EXPECT_THAT(VerdictOnBody("parallel %7 < %0 { } store @1 [%7], %3"), HasSubstr("a loop that has ended"));
  EXPECT_THAT(VerdictOnBody("parallel %7 < %7 { }"), HasSubstr("%7 is not defined here"));
  EXPECT_THAT(VerdictOnBody("%9 = sequential %7 < %0 (%8 = %7) { yield %8 }"), HasSubstr("%7 is not defined here"));
  EXPECT_THAT(
      VerdictAfter("%7 = f32 exp %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.operands[0] = kNoValue; }),
      HasSubstr("an operand is missing"));
}

TEST(KernelVerifierTest, SymbolsAreI64OrF64) {
  EXPECT_EQ(VerdictAfter("", [](Kernel& kernel, Loop&) { kernel.symbols[0] = Dtype::kFloat32; }),
            "a symbol is neither i64 nor f64");
}

TEST(KernelVerifierTest, ThePrologueComputesOnly) {
  EXPECT_THAT(VerdictOnText("kernel() { %0 = f32 load @0 [] input @0 f32 [] strides [] }"),
              HasSubstr("memory is touched outside of a loop"));
  EXPECT_THAT(VerdictAfter("",
                           [](Kernel& kernel, Loop&) {
                             kernel.prologue.push_back(std::move(kernel.body[0]));
                             kernel.body.clear();
                           }),
              HasSubstr("a loop before the buffers"));
}

TEST(KernelVerifierTest, TheBodyIsParallelLoops) {
  EXPECT_THAT(VerdictOnText("kernel(%0) { local @0 f32 [] %1 = i64 constant 1 }"),
              HasSubstr("only parallel loops come after the buffers"));
  EXPECT_THAT(VerdictOnText("kernel(%0) { sequential %1 < %0 { } }"), HasSubstr("only parallel loops"));
  EXPECT_THAT(VerdictOnText("kernel(%0) { %2 = reduce %1 < %0 { yield sum %1 } }"), HasSubstr("only parallel loops"));
}

TEST(KernelVerifierTest, BuffersAreInOrderAndMeasuredByIntegers) {
  EXPECT_THAT(VerdictOnText("kernel() { output @0 f32 [] strides [] input @1 f32 [] strides [] }"),
              HasSubstr("@1: inputs come first"));
  EXPECT_THAT(VerdictOnText("kernel() { local @0 f32 [] output @1 f32 [] strides [] }"),
              HasSubstr("@1: inputs come first"));
  EXPECT_EQ(VerdictOnText("kernel(%0) { input @0 f32 [%0] strides [] }"), "@0 has 0 strides, not 1");
  EXPECT_EQ(VerdictAfter("", [](Kernel& kernel, Loop&) { kernel.buffers[2].strides = {0}; }),
            "@2 has 1 strides, not 0");
  EXPECT_EQ(VerdictOnText("kernel(%0 f64) { local @0 f32 [%0] }"), "@0: a size is f64, not i64");
  EXPECT_EQ(VerdictOnText("kernel(%0, %1 f64) { input @0 f32 [%0] strides [%1] }"), "@0: a stride is f64, not i64");
  EXPECT_EQ(VerdictOnText("kernel(%0) { local @0 f32 [%1] parallel %1 < %0 {} }"), "%1 is not defined here");
}

TEST(KernelVerifierTest, LoadsAndStoresFitTheirBuffer) {
  EXPECT_EQ(VerdictOnBody("%7 = f32 load_if %4, @0 [%6] store @1 [%6], %7 store @2 [], %4"), "sound");
  EXPECT_THAT(VerdictOnBody("store @0 [%6], %3"), HasSubstr("an input is stored to, in\n  store @0 [%6], %3"));
  EXPECT_THAT(VerdictOnBody("store @3 [%6], %3"), HasSubstr("no such buffer"));
  EXPECT_THAT(VerdictOnBody("store @1 [], %3"), HasSubstr("0 indices, and the buffer has 1 dimensions"));
  EXPECT_THAT(VerdictOnBody("%7 = b1 load @2 [%6]"), HasSubstr("1 indices, and the buffer has 0 dimensions"));
  EXPECT_THAT(VerdictOnBody("store @1 [%3], %3"), HasSubstr("operand 1 is f32, not i64"));
  EXPECT_THAT(VerdictOnBody("store @1 [%6], %4"), HasSubstr("operand 0 is b1, not f32"));
  EXPECT_THAT(VerdictOnBody("%7 = f64 load @0 [%6]"), HasSubstr("f64, and the buffer is f32"));
  EXPECT_THAT(VerdictOnBody("%7 = f32 load_if %6, @0 [%6]"), HasSubstr("operand 0 is i64, not b1"));
  EXPECT_THAT(
      VerdictAfter("store @1 [%6], %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.dtype = Dtype::kFloat64; }),
      HasSubstr("f64, and the buffer is f32"));
  EXPECT_THAT(VerdictAfter("store @1 [%6], %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.result = 7; }),
              HasSubstr("a store has a result"));
}

TEST(KernelVerifierTest, OperationsTakeTheirOperands) {
  EXPECT_THAT(VerdictOnBody("%7 = f32 add %3"), HasSubstr("1 operands, and add takes 2"));
  EXPECT_THAT(VerdictOnBody("%7 = f32 exp %3, %3"), HasSubstr("2 operands, and exp takes 1"));
  EXPECT_THAT(VerdictOnBody("%7 = f32 add %3, %6"), HasSubstr("operand 1 is i64, not f32"));
  EXPECT_THAT(VerdictOnBody("%7 = f64 add %3, %3"), HasSubstr("the result is f32, not f64"));
  EXPECT_THAT(VerdictOnBody("%7 = f16 add %5, %5"), HasSubstr("add does not take f16"));
  EXPECT_THAT(VerdictOnBody("%7 = b1 add %4, %4"), HasSubstr("add does not take b1"));
  EXPECT_THAT(VerdictOnBody("%7 = i64 exp %6"), HasSubstr("exp does not take i64"));
  EXPECT_THAT(VerdictOnBody("%7 = f32 and %3, %3"), HasSubstr("and does not take f32"));
  EXPECT_THAT(VerdictOnBody("%7 = b1 shift_left %4, %4"), HasSubstr("shift_left does not take b1"));
  EXPECT_THAT(VerdictOnBody("%7 = i64 fma %6, %6, %6"), HasSubstr("fma does not take i64"));
  EXPECT_EQ(VerdictOnBody("%7 = b1 minimum %4, %4 %8 = b1 xor %4, %7"), "sound");
}

TEST(KernelVerifierTest, ComparisonsGiveB1) {
  EXPECT_EQ(VerdictOnBody("%7 = b1 less %3, %3 %8 = b1 equal %4, %7"), "sound");
  EXPECT_THAT(VerdictOnBody("%7 = f32 less %3, %3"), HasSubstr("the result is b1, not f32"));
  EXPECT_THAT(VerdictOnBody("%7 = b1 less %5, %5"), HasSubstr("less does not take f16"));
}

TEST(KernelVerifierTest, SelectsPickOfOneDtype) {
  EXPECT_EQ(VerdictOnBody("%7 = f16 select %4, %5, %5"), "sound");
  EXPECT_THAT(VerdictOnBody("%7 = f32 select %3, %3, %3"), HasSubstr("operand 0 is f32, not b1"));
  EXPECT_THAT(VerdictOnBody("%7 = f32 select %4, %3, %5"), HasSubstr("operand 2 is f16, not f32"));
  EXPECT_THAT(VerdictOnBody("%7 = f16 select %4, %3, %3"), HasSubstr("the result is f32, not f16"));
}

TEST(KernelVerifierTest, BitcastsKeepTheWidth) {
  EXPECT_EQ(VerdictOnBody("%7 = i32 bitcast %3 %8 = bf16 bitcast %5 %9 = u8 cast %3"), "sound");
  EXPECT_THAT(VerdictOnBody("%7 = i64 bitcast %3"), HasSubstr("f32 and i64 are not as wide"));
  EXPECT_THAT(VerdictOnBody("%7 = u8 bitcast %4"), HasSubstr("the bits of a b1"));
}

TEST(KernelVerifierTest, ConstantsAreValuesOfTheirDtype) {
  const auto with = [](Dtype dtype, int64_t integer, double real) {
    return VerdictAfter("%7 = f32 constant 1", [&](Kernel&, Loop& loop) {
      loop.body[0].instruction.dtype = dtype;
      loop.body[0].instruction.integer = integer;
      loop.body[0].instruction.real = real;
    });
  };
  EXPECT_EQ(with(Dtype::kInt8, -128, 0), "sound");
  EXPECT_THAT(with(Dtype::kInt8, 128, 0), HasSubstr("128 is no value of i8"));
  EXPECT_THAT(with(Dtype::kBool, 2, 0), HasSubstr("2 is no value of b1"));
  EXPECT_THAT(with(Dtype::kInt64, 2, 1), HasSubstr("a floating-point value, too"));
  EXPECT_THAT(with(Dtype::kFloat32, 1, 1), HasSubstr("an integer value, too"));
  EXPECT_THAT(with(Dtype::kFloat32, 0, 0.1), HasSubstr("is no value of f32"));
  EXPECT_THAT(with(Dtype::kFloat16, 0, 65520), HasSubstr("is no value of f16"));
  EXPECT_THAT(with(Dtype::kFloat64, 0, -std::numeric_limits<double>::quiet_NaN()), HasSubstr("is no value of f64"));
}

TEST(KernelVerifierTest, InstructionsHaveNothingThatIsNotTheirs) {
  EXPECT_THAT(VerdictAfter("%7 = f32 exp %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.integer = 1; }),
              HasSubstr("a constant's value"));
  EXPECT_THAT(VerdictAfter("%7 = f32 exp %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.buffer = 1; }),
              HasSubstr("no memory is touched"));
  EXPECT_THAT(VerdictAfter("%7 = f32 exp %3", [](Kernel&, Loop& loop) { loop.body[0].instruction.result = kNoValue; }),
              HasSubstr("no result"));
}

TEST(KernelVerifierTest, LoopsHaveWhatTheirKindHas) {
  const char* const reduce = "%8 = reduce %7 < %0 { yield sum %7 }";
  const char* const sequential = "%9 = sequential %7 < %0 (%8 = %3) { yield %8 }";
  EXPECT_THAT(VerdictAfter(reduce, [](Kernel&, Loop& loop) { loop.body[0].loop->accumulators.clear(); }),
              HasSubstr("a reduce without accumulators"));
  EXPECT_THAT(VerdictAfter(reduce, [](Kernel&, Loop& loop) { loop.body[0].loop->kind = LoopKind::kParallel; }),
              HasSubstr("accumulators that is no reduce"));
  EXPECT_THAT(VerdictAfter(sequential, [](Kernel&, Loop& loop) { loop.body[0].loop->kind = LoopKind::kParallel; }),
              HasSubstr("not sequential carries values"));
  EXPECT_THAT(VerdictOnBody("parallel %7 < %3 { }"), HasSubstr("the extent is f32, not i64"));
}

TEST(KernelVerifierTest, ReductionsTakeTheirElements) {
  EXPECT_EQ(VerdictOnBody("%8, %9 = reduce %7 < %0 { yield minimum %4, arg_minimum %4 } %10 = i64 negate %9"), "sound");
  EXPECT_EQ(VerdictOnBody("%8 = reduce %7 < %0 { yield sum %3 }"), "sound");
  EXPECT_THAT(VerdictOnBody("%8 = reduce %7 < %0 { yield sum %4 }"), HasSubstr("sum does not take b1"));
  EXPECT_THAT(VerdictOnBody("%8 = reduce %7 < %0 { yield maximum %5 }"), HasSubstr("maximum does not take f16"));
}

TEST(KernelVerifierTest, CarriedValuesKeepTheirDtype) {
  EXPECT_EQ(VerdictOnBody("%9 = sequential %7 < %0 (%8 = %5) { yield %5 } %10 = f32 cast %9"), "sound");
  EXPECT_THAT(VerdictOnBody("%9 = sequential %7 < %0 (%8 = %5) { yield %7 }"),
              HasSubstr("a carried value changes its dtype"));
}

TEST(KernelVerifierTest, LoopsAreNotTooDeep) {
  Kernel kernel = KernelWith("");
  Loop* innermost = kernel.body[0].loop.get();
  for (int i = 1; i <= kMaxLoopDepth; ++i) {
    auto inner = std::make_unique<Loop>();
    inner->index = kernel.num_values++;
    inner->extent = 0;
    Loop* const next = inner.get();
    innermost->body.push_back({{}, std::move(inner)});
    innermost = next;
  }
  EXPECT_THAT(VerdictOn(kernel), HasSubstr("too many loops inside one another"));
}

}  // namespace
}  // namespace hearth::fuser
