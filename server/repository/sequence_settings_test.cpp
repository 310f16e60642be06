#include "server/repository/sequence_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/repository/model_config.h"
#include "server/repository/queue_settings.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

inference::ModelConfig SequenceConfig(const std::string& batching, const std::string& more = "") {
  auto config = ParseModelConfig(
      "input { name: 'x' data_type: TYPE_FP32 dims: 1 } output { name: 'y' data_type: TYPE_FP32 dims: 1 } "
      "sequence_batching { " +
          batching + " } " + more,
      "config.pbtxt");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

std::string WhyNotSequences(const std::string& batching) {
  return std::string(CheckSequenceBatching(SequenceConfig(batching)).message());
}

TEST(SequenceSettings, ControlsAndStatesAreReadAndAreTensorsBehindThoseThatClientsSee) {
  const auto config = SequenceConfig(
      "max_sequence_idle_microseconds: 7 "
      "control_input { name: 's' control { kind: CONTROL_SEQUENCE_START int32_false_true: [3, 4] } } "
      "control_input { name: 'c' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } } "
      "state { input_name: 'i' output_name: 'o' data_type: TYPE_FP16 dims: [2, -1] }");
  ASSERT_TRUE(CheckSequenceBatching(config).ok()) << CheckSequenceBatching(config);
  const SequenceSettings settings = SequenceSettingsOf(config);
  EXPECT_EQ(settings.longest_idle, std::chrono::microseconds(7));
  ASSERT_EQ(settings.controls.size(), 2);
  EXPECT_EQ(settings.controls[0].data_type, inference::TYPE_INT32);
  EXPECT_THAT(settings.controls[0].values, ElementsAre(3, 4));
  EXPECT_EQ(settings.controls[1].data_type, inference::TYPE_UINT64);
  EXPECT_THAT(settings.states[0].initial, ElementsAre(2, 1));
  const auto extended = WithSequenceTensors(config);
  ASSERT_EQ(extended.input_size(), 4);
  EXPECT_EQ(extended.input(3).name(), "i");
  ASSERT_EQ(extended.output_size(), 2);
  EXPECT_EQ(extended.output(1).name(), "o");
  EXPECT_EQ(SequenceSettingsOf(SequenceConfig("")).longest_idle, std::chrono::seconds(1));
}

TEST(SequenceSettings, WhatMakesNoSenseIsRefused) {
  const std::string start = "control { kind: CONTROL_SEQUENCE_START ";
  EXPECT_THAT(WhyNotSequences("control_input { name: 's' }"), HasSubstr("must have one control"));
  EXPECT_THAT(WhyNotSequences("control_input { " + start + "int32_false_true: [0, 1] } }"), HasSubstr("has no name"));
  EXPECT_THAT(WhyNotSequences("control_input { name: 'x' " + start + "int32_false_true: [0, 1] } }"),
              HasSubstr("is an input already"));
  EXPECT_THAT(WhyNotSequences("control_input { name: 's' " + start + "int32_false_true: [0] } }"),
              HasSubstr("of two values"));
  EXPECT_THAT(
      WhyNotSequences("control_input { name: 's' " + start + "int32_false_true: [0, 1] fp32_false_true: [0, 1] } }"),
      HasSubstr("must have one of"));
  const std::string state = "state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: ";
  EXPECT_THAT(WhyNotSequences(state + "0 }"), HasSubstr("dimension of 0"));
  EXPECT_THAT(WhyNotSequences("state { input_name: 'i' data_type: TYPE_FP32 }"), HasSubstr("output_name"));
  EXPECT_THAT(WhyNotSequences("state { input_name: 'i' output_name: 'y' data_type: TYPE_FP32 }"),
              HasSubstr("which is an output already"));
  EXPECT_THAT(WhyNotSequences(state + "[1000000, 1000000] }"), HasSubstr("more than 1073741824 bytes"));
  EXPECT_THAT(WhyNotSequences(state + "2 initial_state { data_type: TYPE_FP32 dims: 3 zero_data: true } }"),
              HasSubstr("has dims that the state's cannot be"));
  for (const std::string file : {"", "../f", "/f", "a/f"}) {
    EXPECT_THAT(WhyNotSequences(state + "2 initial_state { data_type: TYPE_FP32 dims: 2 data_file: '" + file + "' } }"),
                HasSubstr("initial_state.data_file is a file in the model's folder initial_state: "));
  }
  EXPECT_THAT(WhyNotSequences("oldest { preferred_batch_size: 2 }"), HasSubstr("preferred_batch_size is 2"));
}

TEST(SequenceSettings, AStateMayBeginWithAFile) {
  const std::string state = "state { input_name: 'i' output_name: 'o' data_type: TYPE_FP32 dims: -1 ";
  const auto config = SequenceConfig(state + "initial_state { data_type: TYPE_FP32 dims: 3 data_file: 'f.bin' } } " +
                                     "state { input_name: 'j' output_name: 'p' data_type: TYPE_FP32 dims: 2 }");
  ASSERT_TRUE(CheckSequenceBatching(config).ok()) << CheckSequenceBatching(config);
  const SequenceSettings settings = SequenceSettingsOf(config);
  EXPECT_EQ(settings.states[0].file, "f.bin");
  EXPECT_THAT(settings.states[0].initial, ElementsAre(3));
  EXPECT_EQ(settings.states[1].file, "");
  EXPECT_TRUE(HasInitialStateFiles(config));
  EXPECT_FALSE(
      HasInitialStateFiles(SequenceConfig(state + "initial_state { data_type: TYPE_FP32 dims: 3 zero_data: true } }")));
}

TEST(SequenceSettings, SequencesAreRunTogetherWhereTheModelHasABatchDimension) {
  const auto queue = QueueSettingsOf(
      SequenceConfig("oldest { preferred_batch_size: [4, 2] max_queue_delay_microseconds: 9 }", "max_batch_size: 4"));
  EXPECT_EQ(queue.max_rows, 4);
  EXPECT_THAT(queue.preferred, ElementsAre(2, 4));
  EXPECT_EQ(queue.delay, std::chrono::microseconds(9));
  EXPECT_FALSE(QueueSettingsOf(SequenceConfig("direct {}")).batches());
}

}  // namespace
}  // namespace hearth::server
