#include "server/rest/message_json.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "proto/inference/service.pb.h"
#include "server/rest/json_value.h"

namespace hearth::server {
namespace {

using nlohmann::json;

template <typename Message>
json JsonOfMessage(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return json::parse(MessageJson(message));
}

TEST(MessageJson, IntegersOf64BitsAreNumbersAndDefaultsAreThere) {
  EXPECT_EQ(JsonOfMessage<inference::StatisticDuration>("ns: 18446744073709551615"),
            json::parse(R"({"count": 0, "ns": 18446744073709551615})"));
  EXPECT_EQ(JsonOfMessage<inference::ModelMetadataResponse>(
                "name: 'm' versions: '1' inputs { name: 'x' datatype: 'FP32' shape: [-1, 9007199254740993] }"),
            json::parse(R"({"name": "m", "versions": ["1"], "platform": "", "outputs": [],
                           "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 9007199254740993]}]})"));
}

TEST(MessageJson, ConfigurationsHaveTritonsSpelling) {
  const json config = JsonOfMessage<inference::ModelConfig>(
      "name: 'm' max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 3 reshape { } }"
      "parameters { key: 'k' value { string_value: 'v' } } dynamic_batching { preferred_batch_size: 2 }"
      "instance_group { kind: KIND_CPU }");
  EXPECT_EQ(config["input"][0]["data_type"], "TYPE_FP32");
  EXPECT_EQ(config["input"][0]["format"], "FORMAT_NONE");
  EXPECT_EQ(config["input"][0]["dims"], json::parse("[3]"));
  EXPECT_EQ(config["input"][0]["reshape"], json::parse(R"({"shape": []})"));
  EXPECT_EQ(config["parameters"], json::parse(R"({"k": {"string_value": "v"}})"));
  EXPECT_EQ(config["dynamic_batching"]["priority_levels"], 0);
  EXPECT_FALSE(config["dynamic_batching"].contains("max_queue_delay_microseconds")) << "0 would say otherwise";
  EXPECT_EQ(config["instance_group"][0]["kind"], "KIND_CPU");
  EXPECT_FALSE(config.contains("sequence_batching")) << "of several that exclude each other only the one that is set";
  EXPECT_FALSE(config.contains("optimization")) << "messages that are not there";
}

TEST(JsonValue, AFewFieldsBecomeATree) {
  const auto value = ParseJsonValue(R"({"a": [1, -2.5e3, null, true], "b": {"c": "d"}, "e": {}})");
  ASSERT_TRUE(value.ok());
  ASSERT_NE(value->Find("a"), nullptr);
  ASSERT_EQ(value->Find("a")->elements.size(), 4U);
  EXPECT_EQ(value->Find("a")->elements[1].text, "-2.5e3");
  EXPECT_EQ(value->Find("a")->elements[1].kind, JsonValue::Kind::kNumber);
  EXPECT_TRUE(value->Find("a")->elements[3].boolean);
  EXPECT_EQ(value->Find("b")->Find("c")->text, "d");
  EXPECT_EQ(value->Find("zzz"), nullptr);
  EXPECT_EQ(ParseJsonValue("")->kind, JsonValue::Kind::kObject);
  EXPECT_FALSE(ParseJsonValue("{").ok());
}

TEST(JsonValue, ATreeIsBounded) {
  std::string many = "[";
  for (int i = 0; i < kMostJsonValues; ++i) many += "[],";
  EXPECT_FALSE(ParseJsonValue(many + "[]]").ok());
  EXPECT_FALSE(ParseJsonValue(std::string(1 << 20, '[')).ok());
  EXPECT_TRUE(ParseJsonValue(std::string(90, '[') + std::string(90, ']')).ok());
}

}  // namespace
}  // namespace hearth::server
