#include "jit/arguments.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "jit/support/errors.h"

namespace hearth {
namespace {

c10::FunctionSchema Schema(const std::string& text) { return torch::jit::parseSchema(text); }

std::string ErrorOf(const c10::FunctionSchema& schema, Arguments args, KeywordArguments kwargs = {}) {
  try {
    BindArguments(schema, c10::IValue(), std::move(args), std::move(kwargs));
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "no error";
}

TEST(BindArgumentsTest, KeywordsAndDefaultsFindTheirPlaces) {
  const auto schema = Schema("forward(Any self, Tensor x, int n=3, *, str mode=\"a\") -> Tensor");
  const Arguments bound = BindArguments(schema, c10::IValue(), {at::ones({1})}, {{"mode", c10::IValue("b")}});
  ASSERT_EQ(bound.size(), 4u);
  EXPECT_EQ(bound[2].toInt(), 3);
  EXPECT_EQ(bound[3].toStringRef(), "b");
}

TEST(BindArgumentsTest, AnIntBecomesAFloatWhereAFloatIsDeclared) {
  const auto schema = Schema("forward(Any self, float x) -> float");
  EXPECT_EQ(BindArguments(schema, c10::IValue(), {c10::IValue(2)}, {})[1].toDouble(), 2.0);
}

TEST(BindArgumentsTest, ATensorOfOneElementIsTheNumberThatItHolds) {
  const auto bound = [](const char* type, const at::Tensor& tensor) {
    return BindArguments(Schema(std::string("f(Any self, ") + type + " x) -> int"), c10::IValue(), {tensor}, {})[1];
  };
  EXPECT_EQ(bound("int", at::scalar_tensor(3, at::kInt)).toInt(), 3);
  EXPECT_EQ(bound("int", at::scalar_tensor(-2.5)).toInt(), -2);
  EXPECT_EQ(bound("int", at::scalar_tensor(INT64_MAX, at::kLong)).toInt(), INT64_MAX);
  EXPECT_EQ(bound("int?", at::ones({1, 1})).toInt(), 1);
  EXPECT_EQ(bound("float", at::scalar_tensor(2.5).requires_grad_()).toDouble(), 2.5);
  EXPECT_EQ(bound("complex", at::scalar_tensor(2.5)).toComplexDouble(), c10::complex<double>(2.5));
  EXPECT_TRUE(bound("bool", at::scalar_tensor(0.5)).toBool());
}

TEST(BindArgumentsTest, ATensorThatPythonMakesNoNumberOfIsRefused) {
  const auto error = [](const char* type, const at::Tensor& tensor) {
    return ErrorOf(Schema(std::string("f(Any self, ") + type + " x) -> int"), {tensor});
  };
  for (const char* type : {"int", "float", "complex", "bool"}) {
    const std::string expected = std::string("argument 'x' of f: expected ") + type + ", got Tensor";
    EXPECT_EQ(error(type, at::ones({2})), expected);
    EXPECT_EQ(error(type, at::empty({0})), expected);
    EXPECT_EQ(error(type, at::empty({}, at::kMeta)), expected);
  }
  const at::Tensor complex = at::scalar_tensor(c10::complex<double>(1, 2), at::kComplexDouble);
  EXPECT_THAT(error("float", complex), testing::HasSubstr("expected float"));
  EXPECT_THAT(error("int", at::scalar_tensor(0x1p63, at::kDouble)), testing::HasSubstr("expected int"));
  EXPECT_THAT(error("int", at::scalar_tensor(std::nan(""))), testing::HasSubstr("expected int"));
  EXPECT_THAT(error("Scalar", at::ones({})), testing::HasSubstr("expected number"));
}

TEST(BindArgumentsTest, ANumberIsAnyScalarAndStaysWhatItIs) {
  const auto schema = Schema("forward(Any self, Scalar x) -> int");
  EXPECT_TRUE(BindArguments(schema, c10::IValue(), {c10::IValue(true)}, {})[1].isBool());
  EXPECT_TRUE(BindArguments(schema, c10::IValue(), {c10::IValue(2)}, {})[1].isInt());
  EXPECT_NE(ErrorOf(schema, {c10::IValue("2")}), "no error");
}

TEST(BindArgumentsTest, AnEmptyListTakesTheDeclaredElementType) {
  const auto schema = Schema("forward(Any self, int[] x) -> int");
  c10::impl::GenericList empty(c10::AnyType::get());
  const Arguments bound = BindArguments(schema, c10::IValue(), {c10::IValue(empty)}, {});
  EXPECT_TRUE(bound[1].isIntList());
}

TEST(BindArgumentsTest, NestedContainersAreAdaptedThroughout) {
  const auto schema = Schema("forward(Any self, Dict(str, float[]) x) -> int");
  c10::impl::GenericList numbers(c10::AnyType::get());
  numbers.push_back(1);
  numbers.push_back(2.5);
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("a", numbers);
  const Arguments bound = BindArguments(schema, c10::IValue(), {c10::IValue(dict)}, {});
  EXPECT_EQ(bound[1].toGenericDict().at("a").toDoubleVector(), (std::vector<double>{1.0, 2.5}));
}

TEST(BindArgumentsTest, AListOfTheRightTypeIsHandedOverItself) {
  const auto schema = Schema("forward(Any self, int[] x) -> int");
  const c10::IValue list(c10::List<int64_t>({1, 2}));
  EXPECT_TRUE(BindArguments(schema, c10::IValue(), {list}, {})[1].is(list));
}

TEST(BindArgumentsTest, ErrorsNameTheArgumentAndBothTypes) {
  const auto schema = Schema("forward(Any self, Tensor image, int n=3) -> Tensor");
  EXPECT_THAT(ErrorOf(schema, {c10::IValue("text")}),
              testing::AllOf(testing::HasSubstr("image"), testing::HasSubstr("Tensor"), testing::HasSubstr("str")));
  EXPECT_THAT(ErrorOf(schema, {}), testing::HasSubstr("'image' of forward is missing"));
  EXPECT_THAT(ErrorOf(schema, {at::ones({1}), 1, 2}), testing::HasSubstr("takes 2 arguments, got 3"));
  EXPECT_THAT(ErrorOf(schema, {at::ones({1})}, {{"m", c10::IValue(1)}}), testing::HasSubstr("no argument 'm'"));
  EXPECT_THAT(ErrorOf(schema, {at::ones({1})}, {{"image", c10::IValue(1)}}), testing::HasSubstr("given twice"));
}

}  // namespace
}  // namespace hearth
