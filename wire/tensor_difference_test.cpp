#include "wire/tensor_difference.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

WireTensor Named(const std::string& name, const at::Tensor& tensor) {
  return {name, FindDatatype(tensor.scalar_type()), tensor.sizes().vec(), tensor.contiguous(), {}};
}

WireTensor Texts(const std::string& name, std::vector<std::string> texts) {
  return {name, BytesDatatype(), {static_cast<int64_t>(texts.size())}, {}, std::move(texts)};
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(TensorDifference, IsAbsoluteOfSmallNumbersAndRelativeOfLargeOnes) {
  const auto expected = Named("y", at::tensor({0.0, 1000.0}, at::kDouble).view({1, 2}));
  const auto got = Named("y", at::tensor({0.001, 1010.0}, at::kDouble).view({1, 2}));
  EXPECT_NEAR(CompareTensors(expected, got, 1).largest, 0.01, 1e-12);
  EXPECT_THAT(CompareTensors(expected, got, 0.01001).text, IsEmpty());
  EXPECT_EQ(CompareTensors(expected, got, 0.005).text, "'y'[0,1] is 1010, expected 1000");
}

TEST(TensorDifference, NansAndInfinitiesAreThemselves) {
  const auto numbers = [](double a, double b) { return Named("y", at::tensor({a, b}, at::kFloat)); };
  EXPECT_EQ(CompareTensors(numbers(kNan, kInfinity), numbers(kNan, kInfinity), 0).largest, 0);
  for (const auto& [expected, got] : {std::pair(kNan, 1.0), {1.0, kNan}, {kInfinity, -kInfinity}, {kInfinity, 1.0}}) {
    const TensorDifference difference = CompareTensors(numbers(expected, 0), numbers(got, 0), 1e9);
    EXPECT_TRUE(std::isinf(difference.largest)) << expected << ' ' << got;
    EXPECT_THAT(difference.text, HasSubstr("'y'[0] is"));
  }
}

TEST(TensorDifference, HalvesAreComparedAsNumbers) {
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    const auto one = Named("y", at::tensor({1.0, 2.0}).to(dtype));
    EXPECT_EQ(CompareTensors(one, Named("y", at::tensor({1.0, 2.0}).to(dtype)), 0).text, "");
    EXPECT_EQ(CompareTensors(one, Named("y", at::tensor({1.0, 3.0}).to(dtype)), 0.1).text, "'y'[1] is 3, expected 2");
  }
}

TEST(TensorDifference, WholeNumbersAndTextsAreTheSameOrNot) {
  const auto expected = Named("n", at::tensor({int64_t{1}, int64_t{100'000}}, at::kLong));
  const auto got = Named("n", at::tensor({int64_t{1}, int64_t{-100'001}}, at::kLong));
  EXPECT_EQ(CompareTensors(expected, got, 1e9).text, "'n'[1] is -100001, expected 100000");
  EXPECT_EQ(CompareTensors(expected, got, 1e9).largest, 0);
  EXPECT_THAT(CompareTensors(expected, expected, 0).text, IsEmpty());
  const auto bytes = Named("n", at::tensor({200}, at::kByte));
  EXPECT_EQ(CompareTensors(bytes, Named("n", at::tensor({255}, at::kByte)), 0).text, "'n'[0] is 255, expected 200");
  EXPECT_EQ(CompareTensors(Texts("t", {"a", "b"}), Texts("t", {"a", "c"}), 0).text, "the text of 't'[1] is another");
  EXPECT_EQ(CompareTensors(Texts("t", {"a"}), Texts("t", {"a"}), 0).text, "");
}

TEST(TensorDifference, FormsAreTheSame) {
  const auto expected = Named("y", at::tensor({1.0, 2.0}, at::kFloat));
  EXPECT_EQ(CompareTensors(expected, Named("y", at::tensor({1.0}, at::kFloat)), 9).text,
            "'y' has the shape [1], expected [2]");
  EXPECT_EQ(CompareTensors(expected, Named("y", at::tensor({1.0, 2.0}, at::kDouble)), 9).text,
            "'y' is FP64, expected FP32");
  EXPECT_EQ(CompareTensors(expected, Texts("y", {"a", "b"}), 9).text, "'y' is BYTES, expected FP32");
}

TEST(TensorDifference, OutputsAreFoundByTheirNames) {
  const auto a = Named("a", at::tensor({1.0}, at::kFloat));
  const auto b = Named("b", at::tensor({2.0}, at::kFloat));
  EXPECT_THAT(CompareTensors(std::vector{a, b}, std::vector{b, a}, 0).text, IsEmpty());
  EXPECT_THAT(CompareTensors(std::vector{a}, std::vector{b, a}, 0).text, IsEmpty());
  EXPECT_EQ(CompareTensors(std::vector{a, b}, std::vector{a}, 0).text, "there is no output 'b', only 'a'");
}

}  // namespace
}  // namespace hearth
