#include "server/repository/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"

namespace hearth::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
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

TEST(ModelConfig, TheGpusOfItsInstancesAreTaken) {
  const auto gpus = [](const std::string& text) { return GpusOf(Check(text)->config); };
  EXPECT_THAT(gpus("instance_group { kind: KIND_GPU gpus: [ 2, 0, 2 ] }"), testing::ElementsAre(0, 2));
  EXPECT_THAT(gpus("instance_group [ { gpus: 3 }, { gpus: 1 } ]"), testing::ElementsAre(1, 3));
  EXPECT_THAT(gpus("instance_group [ { gpus: 3 }, { kind: KIND_GPU } ]"), testing::IsEmpty());
  EXPECT_THAT(gpus(""), testing::IsEmpty());
  for (const char* text : {"instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }", "instance_group { count: 1 gpus: 1 }"}) {
    EXPECT_THAT(Check(text)->warnings, testing::IsEmpty()) << text;
  }
  for (const char* text : {"instance_group { kind: KIND_CPU }", "instance_group { gpus: 1 count: 2 }"}) {
    EXPECT_THAT(Check(text)->warnings, Contains(StartsWith("instance_group but for gpus"))) << text;
  }
  EXPECT_THAT(Check("instance_group { gpus: [ 1, -1 ] }").status().message(), HasSubstr("-1"));
  EXPECT_THAT(Check("instance_group { kind: KIND_CPU gpus: 1 }").status().message(), HasSubstr("KIND_CPU"));
}

TEST(ModelConfig, AWarmUpSampleSaysWhatItsTensorsAre) {
  const auto with_input = [](const std::string& input, int batch_size = 4) {
    return Check("max_batch_size: 4 model_warmup { name: 'w' batch_size: " + std::to_string(batch_size) +
                 " inputs { key: 'x' value { " + input + " } } }")
        .status();
  };
  EXPECT_TRUE(with_input("data_type: TYPE_FP32 dims: 3 zero_data: true").ok());
  EXPECT_TRUE(with_input("data_type: TYPE_INT64 random_data: true").ok());
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: 3").message(),
              HasSubstr("none of zero_data, random_data and input_data_file"));
  EXPECT_THAT(with_input("dims: 3 zero_data: true").message(), HasSubstr("input 'x' of the warm-up sample 'w' has no"));
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: -1 zero_data: true").message(), HasSubstr("a dimension of -1"));
  EXPECT_THAT(with_input("data_type: TYPE_FP32 dims: 3 zero_data: true", 5).message(), HasSubstr("a batch of 5"));
  EXPECT_TRUE(with_input("data_type: TYPE_FP32 dims: 3 input_data_file: 'x.bin'").ok());
  for (const char* name : {"", "..", "../x", "/etc/passwd", "folder/x", ".x"}) {
    const absl::Status file = with_input(std::string("data_type: TYPE_FP32 dims: 3 input_data_file: '") + name + "'");
    EXPECT_EQ(file.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(file.message(), HasSubstr("input_data_file for input 'x' of the warm-up sample 'w' is a file in the "
                                          "model's folder warmup: "));
  }
}

TEST(ModelConfig, WarmUpSamplesAreBoundedEachAndTogether) {
  const auto sample = [](const std::string& settings, const std::string& input) {
    return "model_warmup { name: 'w' " + settings + " inputs { key: 'x' value { zero_data: true " + input + " } } }";
  };
  const auto message = [](const std::string& text) {
    return Message(Check("max_batch_size: 2147483647 " + text).status());
  };
  const std::string gibibyte = "data_type: TYPE_FP32 dims: [1024, 1024, 256]";
  const std::string too_large = "input 'x' of the warm-up sample 'w' makes the sample larger than 1073741824 bytes";
  EXPECT_EQ(message(sample("", gibibyte)), "");
  EXPECT_THAT(message(sample("batch_size: 2", gibibyte)), HasSubstr(too_large));
  EXPECT_THAT(message(sample("", "data_type: TYPE_STRING dims: [1024, 1024, 256]")), HasSubstr(too_large));
  EXPECT_THAT(message(sample("", "data_type: TYPE_INT8 dims: [4294967296, 4294967296]")), HasSubstr(too_large));
  EXPECT_THAT(message(sample("batch_size: 4", "data_type: TYPE_INT8 dims: 4611686018427387904")), HasSubstr(too_large));
  EXPECT_THAT(message(sample("batch_size: 2", "data_type: TYPE_FP64 dims: 1152921504606846976")), HasSubstr(too_large));
  EXPECT_THAT(
      message(sample("", gibibyte + " } } inputs { key: 'y' value { zero_data: true data_type: TYPE_INT8 dims: 1")),
      HasSubstr("makes the sample larger than 1073741824 bytes"));

  const std::string runs = "makes the runs of all samples more than 10000";
  const std::string one = "data_type: TYPE_INT8 dims: 1";
  EXPECT_EQ(message(sample("count: 10000", one)), "");
  EXPECT_THAT(message(sample("count: 10001", one)), HasSubstr(runs));
  EXPECT_THAT(message(sample("count: 4294967295", one)), HasSubstr(runs));
  EXPECT_THAT(message(sample("count: 10000", one) + sample("", one)), HasSubstr(runs));

  const std::string bytes = "makes the tensors of all samples' runs larger than 68719476736 bytes";
  EXPECT_EQ(message(sample("count: 64", gibibyte)), "");
  EXPECT_THAT(message(sample("count: 65", gibibyte)), HasSubstr(bytes));
  EXPECT_THAT(message(sample("count: 64", gibibyte) + sample("", one)), HasSubstr(bytes));
}

TEST(ModelConfig, WhatWouldChangeAnswersIsRefused) {
  for (const char* text :
       {"sequence_batching { iterative_sequence: true }", "model_transaction_policy { decoupled: true }",
        "backend: 'onnxruntime'", "platform: 'tensorrt_plan'", "batch_input { kind: BATCH_ELEMENT_COUNT }"}) {
    EXPECT_EQ(Check(text).status().code(), absl::StatusCode::kUnimplemented) << text;
  }
  EXPECT_THAT(Message(Check("sequence_batching { iterative_sequence: true }").status()),
              HasSubstr("iterative_sequence"));
}

TEST(ModelConfig, AnEnsembleHasStepsAndNothingThatOnlyAnArchiveHas) {
  const std::string edges =
      "input { name: 'x' data_type: TYPE_FP32 dims: 1 } output { name: 'y' data_type: TYPE_FP32 dims: 1 } ";
  const std::string steps =
      "ensemble_scheduling { step { model_name: 'a' model_version: -1 input_map { key: 'x' value: 'x' } "
      "output_map { key: 'y' value: 'y' } } } ";
  const auto checked = Check(edges + steps);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->config.platform(), "ensemble");
  EXPECT_EQ(checked->config.backend(), "");
  EXPECT_EQ(checked->config.default_model_filename(), "");
  EXPECT_TRUE(Check("platform: 'ensemble' " + edges + steps).ok());
  for (const char* text : {"backend: 'pytorch'", "platform: 'pytorch_libtorch'", "instance_group { count: 1 }",
                           "optimization {}", "model_warmup { name: 'w' }", "default_model_filename: 'model.pt'"}) {
    EXPECT_EQ(Check(edges + steps + text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(Message(Check("platform: 'ensemble'").status()), HasSubstr("no ensemble_scheduling"));
  EXPECT_THAT(Check(edges + steps + "response_cache { enable: true }")->warnings, SizeIs(1));
  EXPECT_THAT(Check(edges + steps + "parameters { key: 'compile_after' value { string_value: '2' } }")->warnings,
              SizeIs(1));
  EXPECT_THAT(Check(edges + steps + "parameters { key: 'max_running' value { string_value: '2' } }")->warnings,
              SizeIs(0));
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
        "parameters { key: 'plan_bytes' value { string_value: '1MB' } }",
        "parameters { key: 'max_running' value { string_value: '0' } }",
        "parameters { key: 'keep_previous' value { string_value: 'yes' } }",
        "parameters { key: 'version_labels' value { string_value: 'x' } }"}) {
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
      parameters { key: 'plan_bytes' value { string_value: '1000000' } }
      parameters { key: 'max_running' value { string_value: '2' } }
      parameters { key: 'max_queue_milliseconds' value { string_value: '0' } })");
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_THAT(with->warnings, testing::IsEmpty());
  const auto settings = SettingsOf(with->config);
  EXPECT_EQ(settings->compile_after, 10);
  EXPECT_EQ(settings->exact_after, 0);
  EXPECT_EQ(settings->max_plans, 3);
  EXPECT_EQ(settings->plan_bytes, 1000000);
  EXPECT_EQ(settings->max_running, 2);
  EXPECT_EQ(settings->max_queue_milliseconds, 0);
  const absl::Status wrong = Check("parameters { key: 'compile_after' value { string_value: '0' } }").status();
  EXPECT_THAT(Message(wrong), HasSubstr("the parameter compile_after is '0'; it must be a whole number from 1 on"));
}

TEST(ModelConfig, AValueThatNoEnumerationHasIsRefusedWhereverItStands) {
  for (const auto& [text, place] : std::map<std::string, std::string>{
           {"input { name: 'x' data_type: 99 dims: 1 }", "input[0].data_type is 99, which is no DataType"},
           {"output { name: 'x' data_type: 99 dims: 1 }", "output[0].data_type is 99"},
           {"input { name: 'x' data_type: TYPE_FP32 format: 7 dims: 1 }", "input[0].format is 7, which is no Format"},
           {"model_warmup { inputs { key: 'x' value { data_type: -1 zero_data: true } } }", ".data_type is -1"},
           {"instance_group { kind: 77 }", "instance_group[0].kind is 77, which is no Kind"}}) {
    const absl::Status status = Check(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(place));
  }
  const auto json = ParseModelConfigJson(R"({"input": [{"name": "x", "data_type": 99, "dims": [1]}]})");
  if (json.ok()) {
    EXPECT_THAT(CheckModelConfig(*json, "m").status().message(), HasSubstr("input[0].data_type is 99"));
  }
}

TEST(ModelConfig, SizesWhoseProductOverflowsAreRefused) {
  const std::string large = "4294967296";
  for (const std::string& text : std::vector<std::string>{
           "input { name: 'x' data_type: TYPE_FP32 dims: [" + large + ", " + large + "] }",
           "output { name: 'x' data_type: TYPE_FP32 dims: [-1, " + large + ", " + large + "] }",
           // 4 of 64 bits.
           "input { name: 'x' data_type: TYPE_FP32 dims: 4 reshape { shape: [20, 922337203685477581] } }",
           "input { name: 'x' data_type: TYPE_FP32 dims: 4 reshape { shape: [" + large + ", " + large + "] } }"}) {
    EXPECT_EQ(Check(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(Check("input { name: 'x' data_type: TYPE_FP32 dims: [" + large + ", " + large + "] }").status().message(),
              HasSubstr("input 'x' has dims of more elements than can be counted"));
  EXPECT_TRUE(Check("input { name: 'x' data_type: TYPE_FP32 dims: [" + large + ", 1073741824, -1] }").ok());
}

TEST(ModelConfig, ListsNamesAndTextsAreNoLongerThanTheyMayBe) {
  const auto repeated = [](int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += absl::StrReplaceAll(text, {{"#", std::to_string(i)}});
    return all;
  };
  for (const std::string text :
       {"input { name: 'i#' data_type: TYPE_FP32 dims: 1 }", "output { name: 'o#' data_type: TYPE_FP32 dims: 1 }",
        "model_warmup { name: 'w#' }", "parameters { key: 'p#' value { string_value: '1' } }"}) {
    EXPECT_TRUE(Check(repeated(1024, text)).ok()) << text;
    EXPECT_THAT(Check(repeated(1025, text)).status().message(), HasSubstr("has 1025 entries; it may have 1024"));
  }
  const std::string input = "input { name: 'x' data_type: TYPE_FP32 ";
  EXPECT_TRUE(Check(input + repeated(64, "dims: 1 ") + "}").ok());
  EXPECT_THAT(Check(input + repeated(65, "dims: 1 ") + "}").status().message(),
              HasSubstr("input[0].dims has 65 entries; it may have 64"));
  const std::string name(1025, 'n');
  EXPECT_THAT(Check("input { name: '" + name + "' data_type: TYPE_FP32 }").status().message(),
              HasSubstr("input[0].name has 1025 bytes; it may have 1024"));
  EXPECT_THAT(Check("parameters { key: '" + name + "' value {} }").status().message(), HasSubstr("has 1025 bytes"));
  EXPECT_THAT(Check("metric_tags { key: 'k' value: '\\377' }").status().message(), HasSubstr("is not UTF-8"));
  const std::string comment = "#" + std::string(1 << 20, ' ');
  EXPECT_THAT(Check(comment).status().message(), HasSubstr("config.pbtxt has more than 1048576 bytes"));
  EXPECT_THAT(ParseModelConfigJson("{}" + comment).status().message(),
              HasSubstr("the parameter 'config' has more than 1048576 bytes"));
}

TEST(ModelConfig, NumbersBelowZeroAreRefusedWhereTheyMakeNoSense) {
  for (const char* text : {"max_batch_size: -1", "version_policy { specific { versions: -1 } }",
                           "instance_group { count: -1 }", "dynamic_batching { preferred_batch_size: -4 }"}) {
    EXPECT_THAT(Check(text).status().message(), HasSubstr("; it cannot be below 0")) << text;
  }
  EXPECT_TRUE(Check("optimization { graph { level: -1 } }").ok());
}

TEST(ModelConfig, NestingEndsInAnError) {
  std::string text, json = "{\"input\":";
  for (int i = 0; i < 300'000; ++i) {
    if (i < 50'000) text += "reserved { ";
    json += '[';
  }
  EXPECT_EQ(ParseModelConfig(text, "f").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseModelConfigJson(json).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseModelConfigJson("{\"nothing\":" + json.substr(9)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ModelConfig, TheTimeOfARunIsANumberOfSeconds) {
  const auto seconds = [](const std::string& text) {
    return Check("parameters { key: 'max_run_seconds' value { string_value: '" + text + "' } }");
  };
  const auto half = seconds("0.5");
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_TRUE(half->warnings.empty());
  EXPECT_EQ(SettingsOf(half->config)->max_run_seconds, 0.5);
  EXPECT_EQ(SettingsOf(seconds("0")->config)->max_run_seconds, 0);
  for (const char* wrong : {"-1", "nan", "1e10", "soon", ""}) {
    EXPECT_THAT(Message(seconds(wrong).status()),
                HasSubstr(std::string("the parameter max_run_seconds is '") + wrong + "'; it must be a number"));
  }
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
