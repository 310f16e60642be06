#include "server/repository/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

absl::StatusOr<CheckedConfig> Check(const std::string& text, const std::string& name = "m") {
  auto config = ParseModelConfig(text, "config.pbtxt");
  if (!config.ok()) return config.status();
  return CheckModelConfig(*config, name);
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ModelConfig, AFileWrittenForTritonIsRead) {
  const auto checked = Check(R"pb(
    name: "m"
    platform: "pytorch_libtorch"
    max_batch_size: 8 input
    [ {
      name: "INPUT__0"
      data_type: TYPE_FP32
      dims: [ 3, -1, -1 ]
    }] output
    [ {
      name: "OUTPUT__0"
      data_type: TYPE_FP32
      dims: [ 1000 ]
      reshape { shape: [ 10, 100 ] }
    }]
    version_policy: { specific { versions: [ 1, 3 ] } }
    default_model_filename: "net.pt"
  )pb");
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->config.max_batch_size(), 8);
  EXPECT_EQ(checked->config.input(0).dims(1), -1);
  EXPECT_EQ(checked->config.output(0).reshape().shape(1), 100);
  EXPECT_EQ(checked->config.default_model_filename(), "net.pt");
  EXPECT_EQ(checked->config.version_policy().specific().versions(1), 3);
  EXPECT_THAT(checked->warnings, IsEmpty());
}

TEST(ModelConfig, NoFileAtAllGivesTheDefaults) {
  const auto checked = Check("");
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->config.name(), "m");
  EXPECT_EQ(checked->config.platform(), "pytorch_libtorch");
  EXPECT_EQ(checked->config.default_model_filename(), "model.pt");
  EXPECT_EQ(checked->config.version_policy().latest().num_versions(), 1u);
}

TEST(ModelConfig, AnUnknownFieldIsNamedWithItsPlace) {
  const auto checked = Check("name: \"m\"\nmax_batchsize: 3\n");
  ASSERT_EQ(checked.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(checked.status()), StartsWith("config.pbtxt:2:"));
  EXPECT_THAT(Message(checked.status()), HasSubstr("max_batchsize"));
}

TEST(ModelConfig, ASyntaxErrorHasItsPlace) {
  EXPECT_THAT(Message(Check("input [ { name: \"x\" \n").status()), StartsWith("config.pbtxt:2:"));
}

TEST(ModelConfig, WhatTunesOnlyIsIgnoredWithAWarning) {
  const auto checked = Check(R"pb(
    dynamic_batching { max_queue_delay_microseconds: 100 } instance_group
    [ {
      count: 2
      kind: KIND_GPU
      gpus: [ 0 ]
    }]
    parameters: {
      key: "INFERENCE_MODE"
      value: { string_value: "true" }
    }
    optimization { cuda { graphs: true } }
  )pb");
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_THAT(checked->warnings, Contains(StartsWith("dynamic_batching")));
  EXPECT_THAT(checked->warnings, Contains(StartsWith("instance_group")));
  EXPECT_THAT(checked->warnings, Contains("parameter INFERENCE_MODE"));
  EXPECT_THAT(checked->warnings, Contains("optimization"));
}

TEST(ModelConfig, AWarmUpSampleSaysWhatItsTensorsAre) {
  const auto with_input = [](const std::string& input, int batch_size = 4) {
    return Check("max_batch_size: 4 model_warmup { name: 'w' batch_size: " + std::to_string(batch_size) +
                 " inputs { key: 'x' value { " + input + " } } }")
        .status();
  };
  EXPECT_TRUE(with_input("data_type: TYPE_FP32 dims: 3 zero_data: true").ok());
  EXPECT_TRUE(with_input("data_type: TYPE_INT64 random_data: true").ok());
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: 3").message(), HasSubstr("neither zero_data nor random_data"));
  EXPECT_THAT(with_input("dims: 3 zero_data: true").message(), HasSubstr("input 'x' of the warm-up sample 'w' has no"));
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: -1 zero_data: true").message(), HasSubstr("a dimension of -1"));
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: 3 zero_data: true", 5).message(), HasSubstr("a batch of 5"));
  const absl::Status file = with_input("data_type: TYPE_FP32 dims: 3 input_data_file: 'x'");
  EXPECT_EQ(file.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(file.message(), HasSubstr("input_data_file for input 'x' of the warm-up sample 'w'"));
}

TEST(ModelConfig, WhatWouldChangeAnswersIsRefused) {
  for (const char* text : {"sequence_batching {}", "ensemble_scheduling { step { model_name: 'a' } }",
                           "model_transaction_policy { decoupled: true }", "backend: 'onnxruntime'",
                           "platform: 'tensorrt_plan'", "batch_input { kind: BATCH_ELEMENT_COUNT }"}) {
    EXPECT_EQ(Check(text).status().code(), absl::StatusCode::kUnimplemented) << text;
  }
  EXPECT_THAT(Message(Check("sequence_batching {}").status()), HasSubstr("sequence_batching"));
}

TEST(ModelConfig, ValuesThatMakeNoSenseAreRefused) {
  for (const char* text :
       {"name: 'other'", "max_batch_size: -1", "input { data_type: TYPE_FP32 dims: 1 }", "input { name: 'x' dims: 1 }",
        "input { name: 'x' data_type: TYPE_FP32 dims: 0 }",
        "input { name: 'x' data_type: TYPE_FP32 dims: 1 } input { name: 'x' data_type: TYPE_FP32 dims: 1 }",
        "input { name: 'x' data_type: TYPE_FP32 dims: 6 reshape { shape: [2, 2] } }",
        "default_model_filename: '../../etc/passwd'",
        "parameters { key: 'memory_limit' value { string_value: 'much' } }",
        "parameters { key: 'compile_after' value { string_value: '0' } }",
        "parameters { key: 'exact_after' value { string_value: '-1' } }",
        "parameters { key: 'max_plans' value { string_value: '0' } }",
        "parameters { key: 'plan_bytes' value { string_value: '1MB' } }"}) {
    EXPECT_EQ(Check(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ModelConfig, AModelMayHaveAMemoryLimitOfItsOwn) {
  const auto with = Check("parameters { key: 'memory_limit' value { string_value: '1000000' } }");
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_THAT(with->warnings, testing::IsEmpty());
  EXPECT_EQ(SettingsOf(with->config)->memory_limit, 1000000);
  EXPECT_EQ(SettingsOf(Check("")->config)->memory_limit, std::nullopt);
}

TEST(ModelConfig, AModelMayBeCompiledOtherwiseThanTheRest) {
  const auto with = Check(R"(
      parameters { key: 'compile_after' value { string_value: '10' } }
      parameters { key: 'exact_after' value { string_value: '0' } }
      parameters { key: 'max_plans' value { string_value: '3' } }
      parameters { key: 'plan_bytes' value { string_value: '1000000' } })");
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_THAT(with->warnings, testing::IsEmpty());
  const auto settings = SettingsOf(with->config);
  EXPECT_EQ(settings->compile_after, 10);
  EXPECT_EQ(settings->exact_after, 0);
  EXPECT_EQ(settings->max_plans, 3);
  EXPECT_EQ(settings->plan_bytes, 1000000);
  const absl::Status wrong = Check("parameters { key: 'compile_after' value { string_value: '0' } }").status();
  EXPECT_THAT(Message(wrong), HasSubstr("the parameter compile_after is '0'; it must be a whole number from 1 on"));
}

TEST(ModelConfig, TheJsonOfALoadRequestIsRead) {
  const auto config =
      ParseModelConfigJson(R"({"max_batch_size": 4, "input": [{"name": "x", "data_type": "TYPE_INT64"}]})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_batch_size(), 4);
  EXPECT_EQ(config->input(0).data_type(), inference::TYPE_INT64);
  EXPECT_THAT(Message(ParseModelConfigJson(R"({"max_batchsize": 4})").status()), HasSubstr("max_batchsize"));
}

}  // namespace
}  // namespace hearth::server
