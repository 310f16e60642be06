#include "jit/fuser/ir/parser.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

std::string ParseErrorOf(const std::string& text) {
  try {
    Parse(text);
  } catch (const ParseError& error) {
    return error.what();
  }
  return "none";
}

// Of one line of a loop's body.
std::string ErrorInBody(const std::string& line) {
  return ParseErrorOf("kernel(%0) {\ninput @0 f32 [%0] strides [%0]\nparallel %1 < %0 {\n" + line + "\n}\n}\n");
}

TEST(KernelParserTest, WhatThePrinterWritesReadsBack) {
  const std::string text = R"(kernel(%0, %1 f64) {
  %2 = i64 constant -1
  input @0 f16 [%0] strides [%2]
  output @1 b1 [] strides []
  local @2 i64 [%0, %0]
  parallel %3 < %0 {
    %4 = b1 constant true
    %5 = f16 load_if %4, @0 [%3]
    %6 = f32 cast %5
    %8, %9 = reduce %7 < %0 {
      yield sum %6, arg_maximum %3
    }
    %14, %15 = sequential %10 < %0 (%11 = %2, %12 = %4) {
      %13 = i64 bitcast %1
      store @2 [%10, %3], %13
      yield %13, %12
    }
    sequential %16 < %14 {
    }
    store @1 [], %15
  }
  parallel %17 < %0 {
  }
}
)";
  const Kernel kernel = Parse(text);
  Verify(kernel);
  EXPECT_EQ(Print(kernel), text);
  EXPECT_TRUE(Equal(Parse(Print(kernel)), kernel));
  EXPECT_EQ(kernel.num_values, 18u);
  EXPECT_EQ(DtypesOf(kernel)[8], Dtype::kFloat32);
  EXPECT_EQ(DtypesOf(kernel)[9], Dtype::kInt64);
  EXPECT_EQ(DtypesOf(kernel)[15], Dtype::kBool);
}

TEST(KernelParserTest, SpaceAndCommentsCarryNoMeaning) {
  const Kernel kernel = Parse("kernel(%0){// why\nparallel%1<%0{}}// end");
  EXPECT_EQ(Print(kernel), "kernel(%0) {\n  parallel %1 < %0 {\n  }\n}\n");
}

TEST(KernelParserTest, ConstantsReadBackBitForBit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0.0,
                           -0.0,
                           0.1,
                           -1.0 / 3,
                           1e-310,
                           5e-324,
                           1.7976931348623157e308,
                           infinity,
                           -infinity,
                           std::numeric_limits<double>::quiet_NaN(),
                           65504,
                           6e-8,
                           1e23,
                           123456789};
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBFloat16, Dtype::kFloat32, Dtype::kFloat64}) {
    for (const double value : values) {
      KernelBuilder k;
      const ValueId constant = k.Constant(dtype, value);
      const BufferId y = k.Output(dtype, {}, {});
      k.Parallel(k.Integer(1), [&](ValueId) { k.Store(y, {}, constant); });
      const Kernel kernel = k.Finish();
      Verify(kernel);
      EXPECT_TRUE(Equal(Parse(Print(kernel)), kernel)) << Print(kernel);
    }
  }
  const auto real_of = [](const std::string& text) {
    return Parse("kernel() { %0 = " + text + " }").prologue[0].instruction.real;
  };
  EXPECT_EQ(real_of("f32 constant 0.1"), 0.1f);
  EXPECT_EQ(real_of("f16 constant 1.0001"), 1);
  EXPECT_TRUE(std::signbit(real_of("f64 constant -0")));
  EXPECT_EQ(Parse("kernel() { %0 = i64 constant -9223372036854775808 }").prologue[0].instruction.integer, INT64_MIN);
}

TEST(KernelParserTest, KernelsThatDifferInABitAreNotEqual) {
  const auto constant = [](const std::string& value) { return Parse("kernel() { %0 = f64 constant " + value + " }"); };
  EXPECT_TRUE(Equal(constant("nan"), constant("nan")));
  EXPECT_FALSE(Equal(constant("0"), constant("-0")));
  EXPECT_FALSE(Equal(Parse("kernel(%0) { parallel %1 < %0 {} }"), Parse("kernel(%0) { sequential %1 < %0 {} }")));
}

TEST(KernelParserTest, ErrorsInTheHeadSayWhereAndWhat) {
  EXPECT_EQ(ParseErrorOf(""), "1:1: expected 'kernel', found the end of the text");
  EXPECT_EQ(ParseErrorOf("kernel %0"), "1:8: expected '(', found '%0'");
  EXPECT_EQ(ParseErrorOf("kernel(%1) {}"), "1:8: expected the symbol %0, found '%1'");
  EXPECT_EQ(ParseErrorOf("kernel(%0 i32) {}"), "1:11: expected 'f64', ',' or ')', found 'i32'");
  EXPECT_EQ(ParseErrorOf("kernel() {\n  input @1 f32 [] strides []\n}"), "2:9: expected the buffer @0, found '@1'");
  EXPECT_EQ(ParseErrorOf("kernel() {\n  input @0 f33 [] strides []\n}"), "2:12: expected a dtype, found 'f33'");
  EXPECT_EQ(ParseErrorOf("kernel() {\n  input @0 f32 []\n}"), "3:1: expected 'strides', found '}'");
  EXPECT_EQ(ParseErrorOf("kernel() { local @0 f32 {} }"), "1:25: expected '[', found '{'");
  EXPECT_EQ(ParseErrorOf("kernel(%0) { local @0 f32 [%0 %0] }"), "1:31: expected ',' or ']', found '%0'");
  EXPECT_EQ(ParseErrorOf("kernel(%0) { parallel %1 < %0 {} local @0 f32 [] }"),
            "1:34: expected a statement, found 'local'");
  EXPECT_EQ(ParseErrorOf("kernel() {} more"), "1:13: expected the end of the text, found 'more'");
  EXPECT_EQ(ParseErrorOf("kernel() {"), "1:11: expected a statement, found the end of the text");
}

TEST(KernelParserTest, ErrorsInStatementsSayWhereAndWhat) {
  EXPECT_EQ(ErrorInBody("%2 = f32 sine %0"), "4:10: expected an operation, found 'sine'");
  EXPECT_EQ(ErrorInBody("%2 = f32 store %0"), "4:10: expected an operation, found 'store'");
  EXPECT_EQ(ErrorInBody("%2 f32 exp %0"), "4:4: expected '=', found 'f32'");
  EXPECT_EQ(ErrorInBody("%2 = exp %0"), "4:6: expected a dtype, 'reduce' or 'sequential', found 'exp'");
  EXPECT_EQ(ErrorInBody("%2, %3 = f32 exp %0"), "4:10: expected 'reduce' or 'sequential', found 'f32'");
  EXPECT_EQ(ErrorInBody("%2 = f32 exp 1"), "4:14: expected a value, found '1'");
  EXPECT_EQ(ErrorInBody("%2 = f32 exp %x"), "4:14: expected a value, found '%x'");
  EXPECT_EQ(ErrorInBody("%2 = f32 exp %99999999999"), "4:14: expected a value, found '%99999999999'");
  EXPECT_EQ(ErrorInBody("%2 = f32 load %0"), "4:15: expected a buffer, found '%0'");
  EXPECT_EQ(ErrorInBody("%2 = f32 load_if @0 [%0]"), "4:18: expected a value, found '@0'");
  EXPECT_EQ(ErrorInBody("store @0 [%1] %0"), "4:15: expected ',', found '%0'");
  EXPECT_EQ(ErrorInBody("?"), "4:1: expected a statement, found '?'");
}

TEST(KernelParserTest, ErrorsInConstantsSayWhereAndWhat) {
  EXPECT_EQ(ErrorInBody("%2 = b1 constant 1"), "4:18: expected 'true' or 'false', found '1'");
  EXPECT_EQ(ErrorInBody("%2 = i8 constant 128"), "4:18: 128 is no value of i8");
  EXPECT_EQ(ErrorInBody("%2 = i64 constant 9223372036854775808"),
            "4:19: expected an integer in range, found '9223372036854775808'");
  EXPECT_EQ(ErrorInBody("%2 = i64 constant 1.5"), "4:19: expected an integer, found '1.5'");
  EXPECT_EQ(ErrorInBody("%2 = f32 constant inf2"), "4:19: expected a number, found 'inf2'");
  EXPECT_EQ(ErrorInBody("%2 = f32 constant -nan"), "4:19: expected a number, found '-nan'");
  EXPECT_EQ(ErrorInBody("%2 = f32 constant 1e"), "4:19: expected a number, found '1e'");
  EXPECT_EQ(ErrorInBody("%2 = f32 constant 1e39"), "4:19: expected a number in range, found '1e39'");
}

TEST(KernelParserTest, ErrorsInLoopsSayWhereAndWhat) {
  EXPECT_EQ(ErrorInBody("parallel %2 = %0 {}"), "4:13: expected '<', found '='");
  EXPECT_EQ(ErrorInBody("parallel %2 < 5 {}"), "4:15: expected a value, found '5'");
  EXPECT_EQ(ErrorInBody("reduce %2 < %0 {}"), "4:1: expected a statement, found 'reduce'");
  EXPECT_EQ(ErrorInBody("%3 = reduce %2 < %0 { }"), "4:23: expected 'yield', found '}'");
  EXPECT_EQ(ErrorInBody("%3 = reduce %2 < %0 { yield mean %2 }"), "4:29: expected a reduction, found 'mean'");
  EXPECT_EQ(ErrorInBody("%3 = reduce %2 < %0 { yield sum %2, sum %2 }"),
            "4:29: a loop with 1 results yields or carries 2");
  EXPECT_EQ(ErrorInBody("%3 = sequential %2 < %0 { yield %2 }"), "4:25: expected '(', found '{'");
  EXPECT_EQ(ErrorInBody("%4 = sequential %2 < %0 (%3 = %0 { yield %2 }"), "4:34: expected ',' or ')', found '{'");
  EXPECT_EQ(ErrorInBody("%4, %5 = sequential %2 < %0 (%3 = %0) { yield %2, %2 }"),
            "4:47: a loop with 2 results yields or carries 1");
  EXPECT_EQ(ErrorInBody("parallel %2 < %0 { yield %2 }"), "4:20: expected '}', found 'yield'");
}

TEST(KernelParserTest, LoopsBeyondTheDeepestAreErrors) {
  const auto nested = [](int depth) {
    std::string text = "kernel(%0) {";
    for (int i = 0; i < depth; ++i) text += "parallel %" + std::to_string(i + 1) + " < %0 {";
    return text + std::string(static_cast<size_t>(depth) + 1, '}');
  };
  EXPECT_NO_THROW(Verify(Parse(nested(kMaxLoopDepth))));
  EXPECT_NE(ParseErrorOf(nested(kMaxLoopDepth + 1)).find("too many loops inside one another"), std::string::npos);
  EXPECT_NE(ParseErrorOf(nested(100000)).find("too many loops inside one another"), std::string::npos);
}

TEST(KernelParserTest, ListsBeyondTheLongestAreErrors) {
  std::string list = "%0";
  for (int i = 0; i < 5000; ++i) list += ", %0";
  EXPECT_NE(ParseErrorOf("kernel(%0) { local @0 f32 [" + list + "] }").find("too many values in a list"),
            std::string::npos);
}

TEST(KernelParserTest, PositionsAreThere) {
  try {
    Parse("kernel() {\n\n   oops }");
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.line(), 3u);
    EXPECT_EQ(error.column(), 4u);
  }
}

}  // namespace
}  // namespace hearth::fuser
