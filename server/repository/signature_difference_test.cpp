#include "server/repository/signature_difference.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

inference::ModelConfig Config(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

class SignatureDifference : public ::testing::Test {
 protected:
  std::vector<std::string> Between(const std::string& before, const std::string& now) {
    return SignatureDifferences(one_, Config(before), other_, Config(now));
  }

  Gate gate_;
  FakeModel one_{"", &gate_}, other_{"", &gate_};
};

TEST_F(SignatureDifference, WhatIsTheSameIsNoDifference) {
  EXPECT_THAT(Between("", ""), IsEmpty());
  EXPECT_THAT(Between("input { name: 'x' data_type: TYPE_FP32 dims: 1 }",
                      "input { name: 'x' data_type: TYPE_FP32 dims: 1 } version_policy { all {} }"),
              IsEmpty());
}

TEST_F(SignatureDifference, TensorsThatChangeComeAndGoAreTold) {
  EXPECT_THAT(Between("max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: [ 3, 4 ] } "
                      "output { name: 'y' data_type: TYPE_FP32 dims: 1 }",
                      "input { name: 'x' data_type: TYPE_INT64 dims: [ 3 ] } "
                      "output { name: 'z' data_type: TYPE_FP32 dims: 1 }"),
              ElementsAre("input 'x' was TYPE_FP32 [3, 4], is TYPE_INT64 [3]", "output 'y' is gone",
                          "output 'z' is new: TYPE_FP32 [1]", "max_batch_size was 4, is 0"));
}

TEST_F(SignatureDifference, NoMoreAreToldThanMay) {
  std::string many;
  for (int i = 0; i < 20; ++i) many += "input { name: 'x" + std::to_string(i) + "' data_type: TYPE_FP32 dims: 1 } ";
  const auto differences = Between(many, "");
  EXPECT_EQ(differences.size(), kMostDifferences + 1);
  EXPECT_EQ(differences.back(), "12 more");
}

}  // namespace
}  // namespace hearth::server
