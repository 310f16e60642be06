#include "cli/value_summary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/failure.h"
#include "cli/json.h"

namespace hearth::cli {
namespace {

c10::IValue Detection() {
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("boxes", at::arange(8, at::kFloat).view({2, 4}));
  dict.insert("labels", at::tensor({1, 7}, at::kLong));
  return c10::ivalue::Tuple::create(c10::IValue(dict), c10::IValue(2.0));
}

TEST(ValueSummaryTest, NamesEveryLeafByItsPath) {
  EXPECT_EQ(SummarizeValue(Detection()),
            "0.boxes   float32 [2, 4]  [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]\n"
            "0.labels  int64 [2]       [1, 7]\n"
            "1         float           2.0\n");
}

TEST(ValueSummaryTest, TellsTheRangeOfALargeTensorAndItsNumbersThatAreNotFinite) {
  at::Tensor tensor = at::arange(10, at::kFloat);
  tensor[3].fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(SummarizeValue(tensor), "result  float32 [10]  min 0  max 9  mean 4.66667  not finite 1\n");
}

TEST(ValueSummaryTest, NamesADtypeWhoseElementsAreNoNumbers) {
  const at::Tensor bytes = at::arange(8, at::kByte);
  EXPECT_EQ(SummarizeValue(bytes.view(at::ScalarType::Bits16)), "result  bits16 [4]  values that are no numbers\n");
  EXPECT_EQ(SummarizeValue(bytes.view(at::ScalarType::Int3)), "result  int3 [8]  values that are no numbers\n");
  EXPECT_EQ(TensorToJson(bytes.view(at::ScalarType::Float4_e2m1fn_x2)).dump(),
            R"({"dtype":"float4_e2m1fn_x2","shape":[8],"device":"cpu"})");
}

TEST(ValueSummaryTest, KeepsAStringOnOneLine) {
  EXPECT_EQ(SummarizeValue(c10::IValue("a\nb")), "result  str  \"a\\nb\"\n");
}

TEST(JsonTest, WritesContainersAsArraysAndObjects) {
  const Json json = ValueToJson(Detection());
  EXPECT_EQ(json[0]["labels"]["values"].dump(), "[1,7]");
  EXPECT_EQ(json[0]["boxes"]["shape"].dump(), "[2,4]");
  EXPECT_EQ(json[1].dump(), "2.0");
}

TEST(JsonTest, PrintsAFloatAsItsShortestText) { EXPECT_EQ(TensorToJson(at::tensor({0.1f}))["values"].dump(), "[0.1]"); }

TEST(JsonTest, SaysWhatJsonHasNoNumberFor) {
  EXPECT_EQ(ValueToJson(c10::IValue(-std::numeric_limits<double>::infinity())), "-inf");
}

TEST(FailureTest, TheMessageIsWhatFollowsTheLastPlaceOfATraceback) {
  const absl::Status status = absl::InternalError(
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n"
      "  File \"code/__torch__.py\", line 3, in forward\n    x\n    ~ <--- HERE\n    y\ndef after(n: int):\n\n"
      "builtins.ValueError: too small\nreally\n");
  EXPECT_EQ(RaisedMessage(status), "builtins.ValueError: too small\nreally");
}

TEST(FailureTest, ACompileErrorFitsOnOneLineWithoutItsCaret) {
  EXPECT_EQ(OneLine("expected ')'\n  File \"code/a.py\", line 3\n    f(x\n    ~~~ <--- HERE\n"),
            "expected ')'; File \"code/a.py\", line 3; f(x");
}

TEST(FailureTest, EscapesWhatWouldBreakALine) { EXPECT_EQ(EscapeLine("a\n\t\\\x01"), "a\\n\\t\\\\\\x01"); }

}  // namespace
}  // namespace hearth::cli
