#include "server/repository/batch_padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTensors = R"(
input { name: "ids" data_type: TYPE_INT64 dims: [ -1 ] }
input { name: "image" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] }
input { name: "flags" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "logits" data_type: TYPE_FP32 dims: [ -1, 9 ] }
output { name: "pooled" data_type: TYPE_FP32 dims: [ 9 ] }
)";

absl::StatusOr<BatchPadding> Read(const std::string& parameters, const std::string& tensors = "") {
  std::string text = tensors;
  for (size_t begin = 0; begin < parameters.size();) {
    const size_t end = parameters.find('|', begin);
    const std::string one = parameters.substr(begin, end - begin);
    const size_t colon = one.find(": ");
    text += "parameters { key: \"" + one.substr(0, colon) + "\" value { string_value: \"" + one.substr(colon + 2) +
            "\" } }\n";
    begin = end == std::string::npos ? parameters.size() : end + 1;
  }
  auto config = ParseModelConfig("max_batch_size: 8\ndynamic_batching { }\n" + text, "config.pbtxt");
  EXPECT_TRUE(config.ok()) << config.status();
  return PaddingOf(*config);
}

std::string WhyNot(const std::string& parameters, const std::string& tensors = "") {
  const auto padding = Read(parameters, tensors);
  EXPECT_EQ(padding.status().code(), absl::StatusCode::kInvalidArgument) << parameters;
  return std::string(padding.status().message());
}

TEST(BatchPaddingTest, NothingIsPaddedWhereNothingIsSaid) {
  EXPECT_TRUE(Read("")->empty());
  EXPECT_EQ(Read("")->multiple, 1);
}

TEST(BatchPaddingTest, InputsAndOutputsAreReadWithTheirDimensions) {
  const auto padding = Read(
      "pad_inputs: ids=7, image:2=0.5,image:3=0.5|trim_outputs: logits, 1.mask:2=image:2, 0=image:3|pad_multiple_of: "
      "16|max_padding_factor: 1.5");
  ASSERT_TRUE(padding.ok()) << padding.status();
  ASSERT_EQ(padding->inputs.size(), 3U);
  EXPECT_EQ(padding->inputs[0].name, "ids");
  EXPECT_EQ(padding->inputs[0].dimension, 1);
  EXPECT_EQ(padding->inputs[0].value, 7);
  EXPECT_EQ(padding->inputs[2].dimension, 3);
  EXPECT_EQ(padding->inputs[2].value, 0.5);
  ASSERT_EQ(padding->outputs.size(), 3U);
  EXPECT_EQ(padding->outputs[0].name, "logits");
  EXPECT_EQ(padding->outputs[0].input, 0U);
  EXPECT_EQ(padding->outputs[1].name, "1.mask");
  EXPECT_EQ(padding->outputs[1].dimension, 2);
  EXPECT_EQ(padding->outputs[1].input, 1U);
  EXPECT_EQ(padding->outputs[2].dimension, 1);
  EXPECT_EQ(padding->outputs[2].input, 2U);
  EXPECT_EQ(padding->multiple, 16);
  EXPECT_EQ(padding->most, 1.5);
}

TEST(BatchPaddingTest, WhatIsNotWrittenSoIsRefused) {
  for (const char* text :
       {"", "ids", "ids=", "ids=x", "=0", "ids:0=0", "ids:x=0", "ids:-1=0", "ids=nan", "ids=0,", "ids:99=0"}) {
    EXPECT_THAT(WhyNot(std::string("pad_inputs: ") + text), HasSubstr("it must be inputs with what they are filled"))
        << text;
  }
  EXPECT_THAT(WhyNot("pad_inputs: ids=0,ids:1=0"), HasSubstr("dimension 1 of 'ids' is there twice"));
  EXPECT_THAT(WhyNot("pad_inputs: image:2=0,image:3=1"), HasSubstr("'image' is filled up with two values"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|trim_outputs: logits:0"), HasSubstr("it must be outputs with commas"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|trim_outputs: logits=mask"), HasSubstr("pad_inputs has no 'mask'"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|trim_outputs: a,a"), HasSubstr("dimension 1 of 'a' is there twice"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|pad_multiple_of: 0"), HasSubstr("a whole number from 1 to 1048576"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|max_padding_factor: 0.5"), HasSubstr("a number from 1 to 1e6"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|max_padding_factor: nan"), HasSubstr("a number from 1 to 1e6"));
  EXPECT_THAT(WhyNot("trim_outputs: logits"), HasSubstr("trim_outputs is 'logits'; it needs the parameter pad_inputs"));
  std::string many = "a0=0";
  for (int i = 1; i <= 32; ++i) many += ",a" + std::to_string(i) + "=0";
  EXPECT_THAT(WhyNot("pad_inputs: " + many), HasSubstr("it may have 32 entries"));
}

TEST(BatchPaddingTest, WhatTheConfigurationsTensorsContradictIsRefused) {
  EXPECT_TRUE(Read("pad_inputs: ids=-1,image:2=0.5,flags=255|trim_outputs: logits", kTensors).ok());
  EXPECT_THAT(WhyNot("pad_inputs: mask=0", kTensors), HasSubstr("the configuration has no input 'mask'"));
  EXPECT_THAT(WhyNot("pad_inputs: ids:2=0", kTensors), HasSubstr("input 'ids' has 1 dimensions beside the batch"));
  EXPECT_THAT(WhyNot("pad_inputs: image=0", kTensors), HasSubstr("dimension 1 of input 'image' is always 3"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0.5", kTensors), HasSubstr("input 'ids' is TYPE_INT64, which has no 0.5"));
  EXPECT_THAT(WhyNot("pad_inputs: flags=-1", kTensors), HasSubstr("input 'flags' is TYPE_UINT8, which has no -1"));
  EXPECT_THAT(WhyNot("pad_inputs: flags=256", kTensors), HasSubstr("which has no 256"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=1e19", kTensors), HasSubstr("which has no 1e+19"));
  EXPECT_THAT(WhyNot("pad_inputs: ids=0|trim_outputs: pooled", kTensors),
              HasSubstr("dimension 1 of output 'pooled' is always 9"));
}

TEST(BatchPaddingTest, AConfigurationThatIsWrongIsNotLoaded) {
  const auto config = ParseModelConfig(
      "max_batch_size: 8\ndynamic_batching { }\nparameters { key: \"pad_inputs\" value { string_value: \"x\" } }", "f");
  EXPECT_THAT(std::string(CheckModelConfig(*config, "m").status().message()),
              HasSubstr("the configuration of 'm': the parameter pad_inputs is 'x'"));
  auto alone = *config;
  alone.clear_dynamic_batching();
  EXPECT_THAT(CheckModelConfig(alone, "m")->warnings, ::testing::ElementsAre("parameter pad_inputs"));
}

}  // namespace
}  // namespace hearth::server
