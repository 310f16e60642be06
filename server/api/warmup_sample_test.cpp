#include "server/api/warmup_sample.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/repository/data_files_testing.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WarmupSampleTest : public ::testing::Test {
 protected:
  // Of a sample with one input, x.
  absl::StatusOr<std::vector<WireTensor>> Make(const std::string& input, int batch_size, bool batched) {
    inference::ModelWarmup sample;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "batch_size: " + std::to_string(batch_size) + " inputs { key: 'x' value { " + input + " } }", &sample));
    return WarmupTensors(sample, batched, folder_.files());
  }

  const DataFolder folder_{kWarmupFolder};
};

TEST_F(WarmupSampleTest, AFileIsEachRowOfTheBatch) {
  folder_.Write("x", std::string_view("\x01\x00\x02\x00\x03\x00", 6));
  const auto plain = Make("data_type: TYPE_INT16 dims: 3 input_data_file: 'x'", 1, false);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(at::equal(plain->at(0).tensor, at::tensor({1, 2, 3}, at::kShort)));
  const auto batch = Make("data_type: TYPE_INT16 dims: 3 input_data_file: 'x'", 2, true);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->at(0).shape, ElementsAre(2, 3));
  EXPECT_TRUE(batch->at(0).tensor.is_contiguous());
  EXPECT_TRUE(at::equal(batch->at(0).tensor, at::tensor({1, 2, 3, 1, 2, 3}, at::kShort).view({2, 3})));
}

TEST_F(WarmupSampleTest, AFilesStringsAreEachRowOfTheBatch) {
  folder_.Write("x", EncodeStrings({"a", "bc"}));
  const auto batch = Make("data_type: TYPE_STRING dims: 2 input_data_file: 'x'", 2, true);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->at(0).strings, ElementsAre("a", "bc", "a", "bc"));
}

TEST_F(WarmupSampleTest, AFileThatDoesNotFitIsAnErrorOfItsInput) {
  folder_.Write("x", "12345");
  const absl::Status wrong = Make("data_type: TYPE_INT16 dims: 3 input_data_file: 'x'", 1, false).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong));
  EXPECT_THAT(
      std::string(wrong.message()),
      HasSubstr("input 'x': the file warmup/x: a tensor of shape [3] and datatype INT16 expects 6 bytes, got 5"));
  const absl::Status missing = Make("data_type: TYPE_INT16 dims: 3 input_data_file: 'y'", 1, false).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("input 'x': cannot read "));
}

}  // namespace
}  // namespace hearth::server
