#include "server/api/sequence_tensors.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <string>
#include <vector>

#include "server/api/signature.h"
#include "server/repository/data_files_testing.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of a method with a state of two numbers and one of two strings, which begin with the files "numbers" and "words".
class InitialStateTest : public ::testing::Test {
 protected:
  InitialStateTest() {
    inference::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
        input { name: 'x' data_type: TYPE_FP32 dims: 1 } output { name: 'y' data_type: TYPE_FP32 dims: 1 }
        sequence_batching {
          state { input_name: 'i' output_name: 'o' data_type: TYPE_INT32 dims: -1
                  initial_state { data_type: TYPE_INT32 dims: 2 data_file: 'numbers' } }
          state { input_name: 'j' output_name: 'p' data_type: TYPE_STRING dims: 2
                  initial_state { data_type: TYPE_STRING dims: 2 data_file: 'words' } }
        })",
                                                              &config));
    signature_ = *Signature::Create(schema_, config);
  }

  absl::Status Read() { return signature_->ReadInitialStates(folder_.files()); }
  std::vector<WireTensor> Begin(bool batched) { return SequenceInputs(*signature_->sequence(), {}, {}, batched); }

  const DataFolder folder_{kInitialStateFolder};
  const c10::FunctionSchema schema_ =
      torch::jit::parseSchema("forward(Any self, Tensor x, Tensor i, str[] j) -> (Tensor, Tensor, str[])");
  std::unique_ptr<Signature> signature_;
};

TEST_F(InitialStateTest, ASequenceBeginsWithWhatTheFilesHold) {
  folder_.Write("numbers", std::string_view("\x07\x00\x00\x00\x08\x00\x00\x00", 8));
  folder_.Write("words", EncodeStrings({"a", "b"}));
  ASSERT_TRUE(Read().ok()) << Read();
  const auto states = Begin(false);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].name, "i");
  EXPECT_TRUE(at::equal(states[0].tensor, at::tensor({7, 8}, at::kInt)));
  EXPECT_EQ(states[1].name, "j");
  EXPECT_THAT(states[1].strings, ElementsAre("a", "b"));
  const auto batched = Begin(true);
  EXPECT_THAT(batched[0].shape, ElementsAre(1, 2));
  EXPECT_EQ(batched[0].tensor.sizes(), c10::IntArrayRef({1, 2}));
  EXPECT_THAT(batched[1].shape, ElementsAre(1, 2));
}

TEST_F(InitialStateTest, WhatASequenceWritesIsItsOwn) {
  folder_.Write("numbers", std::string_view("\x07\x00\x00\x00\x08\x00\x00\x00", 8));
  folder_.Write("words", EncodeStrings({"a", "b"}));
  ASSERT_TRUE(Read().ok());
  Begin(false)[0].tensor.fill_(1);
  EXPECT_TRUE(at::equal(Begin(false)[0].tensor, at::tensor({7, 8}, at::kInt)));
}

TEST_F(InitialStateTest, AFileThatDoesNotFitIsAnErrorOfItsState) {
  folder_.Write("numbers", "1234567");
  const absl::Status status = Read();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the initial state of 'i': the file initial_state/numbers: a tensor of shape [2] and datatype "
                        "INT32 expects 8 bytes, got 7"));
}

}  // namespace
}  // namespace hearth::server
