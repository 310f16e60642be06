#include "server/repository/data_files.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "server/repository/data_files_testing.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DataFilesTest : public ::testing::Test {
 protected:
  template <typename Number, size_t kNumbers>
  void Write(const std::string& name, const std::array<Number, kNumbers>& numbers) {
    folder_.Write(name, {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
  }
  absl::StatusOr<WireTensor> Read(const std::string& name, const char* datatype, std::vector<int64_t> shape,
                                  int64_t most_bytes = 1000) {
    return folder_.files().Read(name, *FindDatatype(datatype), shape, most_bytes);
  }
  absl::Status Error(const std::string& name, const char* datatype, std::vector<int64_t> shape,
                     int64_t most_bytes = 1000) {
    return Read(name, datatype, std::move(shape), most_bytes).status();
  }

  const DataFolder folder_{kWarmupFolder};
};

TEST_F(DataFilesTest, AFileIsATensorsElementsInRowMajorOrder) {
  Write("x", std::array{1.5F, -2.0F, 0.0F, 4.0F, 5.0F, 6.0F});
  const auto tensor = Read("x", "FP32", {2, 3});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_TRUE(at::equal(tensor->tensor, at::tensor({1.5F, -2.0F, 0.0F, 4.0F, 5.0F, 6.0F}).view({2, 3})));
}

TEST_F(DataFilesTest, StringsHaveTheirLengthsBeforeThem) {
  folder_.Write("words", EncodeStrings({"one", "", "three"}));
  EXPECT_THAT(Read("words", "BYTES", {3})->strings, ElementsAre("one", "", "three"));
  EXPECT_THAT(std::string(Error("words", "BYTES", {2}).message()),
              HasSubstr("the file warmup/words: a tensor of shape [2] expects 2 elements, got 3"));
  folder_.Write("cut", "\x09\x01");
  EXPECT_TRUE(absl::IsInvalidArgument(Error("cut", "BYTES", {1})));
}

TEST_F(DataFilesTest, AFileOfAnotherLengthIsRefusedWithBoth) {
  Write("x", std::array{1.0F, 2.0F});
  for (const int64_t elements : {1, 3}) {
    const absl::Status status = Error("x", "FP32", {elements});
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the file warmup/x: a tensor of shape [" + std::to_string(elements) +
                          "] and datatype FP32 expects " + std::to_string(4 * elements) + " bytes, got 8"));
  }
}

TEST_F(DataFilesTest, NoMoreThanTheBoundIsRead) {
  Write("x", std::array{1.0F, 2.0F});
  EXPECT_TRUE(Read("x", "FP32", {2}, 8).ok());
  EXPECT_THAT(std::string(Error("x", "FP32", {2}, 7).message()), HasSubstr("warmup/x has more than 7 bytes"));
}

TEST_F(DataFilesTest, WhatCannotBeReadIsNamed) {
  const absl::Status missing = Error("missing", "FP32", {2});
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("warmup/missing: No such file"));
  std::filesystem::create_directory(folder_.path() / "folder");
  EXPECT_TRUE(absl::IsFailedPrecondition(Error("folder", "FP32", {2})));
}

TEST_F(DataFilesTest, NoNameLeadsOutOfTheFolder) {
  for (const char* name : {"/etc/hostname", "../x", "a/x", "..", "", ".x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Error(name, "FP32", {2}))) << name;
  }
}

}  // namespace
}  // namespace hearth::server
