#include "server/repository/metric_options.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

inference::ModelConfig MetricsConfig(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

std::string Buckets(const std::string& family, const std::string& buckets) {
  return "metric_control { metric_identifier { family: '" + family + "' } histogram_options { buckets: " + buckets +
         " } } ";
}

std::string MetricsError(const std::string& text) {
  const auto settings = MetricSettingsOf(MetricsConfig(text));
  EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(settings.status().message());
}

TEST(MetricOptions, ATagIsALabelAsTritonNamesIt) {
  const auto settings = MetricSettingsOf(
      MetricsConfig("metric_tags { key: 'team' value: 'vision \"a\"' } metric_tags { key: 'tier2' value: '' }"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->labels, ElementsAre(Pair("_team", "vision \"a\""), Pair("_tier2", "")));
}

TEST(MetricOptions, KeysThatAreNoLabelsAreRefused) {
  for (const std::string key : {"", "_x", "a-b", "a b", "\xC3\xA9", "a\"b", "model.name"}) {
    EXPECT_THAT(MetricsError("metric_tags { key: '" + key + "' value: 'x' }"), HasSubstr("the label '_" + key + "'"))
        << key;
  }
  // Those that are hearth's own without the prefix.
  EXPECT_THAT(MetricSettingsOf(MetricsConfig("metric_tags { key: 'model' value: 'x' }"))->labels,
              ElementsAre(Pair("_model", "x")));
}

TEST(MetricOptions, TagsAreBounded) {
  std::string tags;
  for (int i = 0; i < kMostMetricTags; ++i) tags += "metric_tags { key: 'k" + std::to_string(i) + "' value: 'v' } ";
  EXPECT_TRUE(MetricSettingsOf(MetricsConfig(tags)).ok());
  EXPECT_THAT(MetricsError(tags + "metric_tags { key: 'more' value: 'v' }"), HasSubstr("17 tags; there may be 16"));
  EXPECT_THAT(MetricsError("metric_tags { key: 'k' value: '" + std::string(257, 'v') + "' }"),
              HasSubstr("257 bytes for 'k'"));
}

TEST(MetricOptions, BucketsAreOfAHistogramsFamily) {
  const auto settings = MetricSettingsOf(MetricsConfig(
      "model_metrics { " + Buckets("hearth_request_duration_seconds", "[ 0.1, 1, 2 ]") +
      Buckets("hearth_batch_size", "[ 3 ]") + Buckets("nv_inference_first_response_histogram_ms", "[ 5 ]") +
      "metric_control { metric_identifier { family: 'hearth_queue_duration_seconds' } } }"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->request_durations, ElementsAre(0.1, 1, 2));
  EXPECT_THAT(settings->batch_sizes, ElementsAre(3));
  EXPECT_THAT(settings->queue_durations, IsEmpty());
  EXPECT_THAT(settings->compute_durations, IsEmpty());
}

TEST(MetricOptions, FamiliesThatThereAreNotAreKnown) {
  const auto config = MetricsConfig("model_metrics { " + Buckets("nv_inference_first_response_histogram_ms", "[ 5 ]") +
                                    Buckets("hearth_batch_size", "[ 3 ]") + "}");
  EXPECT_THAT(UnknownHistograms(config), ElementsAre("nv_inference_first_response_histogram_ms"));
}

TEST(MetricOptions, BucketsThatMakeNoSenseAreRefused) {
  const auto error = [](const std::string& family, const std::string& buckets) {
    return MetricsError("model_metrics { " + Buckets(family, buckets) + "}");
  };
  EXPECT_THAT(error("hearth_queue_duration_seconds", "[ 1, 1 ]"),
              HasSubstr("buckets for hearth_queue_duration_seconds that do not ascend"));
  EXPECT_THAT(error("other", "[ 2, 1 ]"), HasSubstr("buckets for other that do not ascend"));
  EXPECT_THAT(error("hearth_queue_duration_seconds", "[ 1, inf ]"), HasSubstr("no finite number"));
  EXPECT_THAT(error("hearth_queue_duration_seconds", "[ nan ]"), HasSubstr("no finite number"));
  EXPECT_THAT(error("", "[ 1 ]"), HasSubstr("without a family"));
  EXPECT_THAT(error("hearth_batch_size", "[ 1, 256 ]"), HasSubstr("the bound 256; larger ones than 255"));
  EXPECT_THAT(
      MetricsError("model_metrics { " + Buckets("hearth_batch_size", "1") + Buckets("hearth_batch_size", "2") + "}"),
      HasSubstr("buckets for hearth_batch_size twice"));
  std::string many = "[ 0";
  for (int i = 1; i <= kMostHistogramBuckets; ++i) many += ", " + std::to_string(i);
  EXPECT_THAT(error("hearth_queue_duration_seconds", many + " ]"), HasSubstr("more than 64"));
}

}  // namespace
}  // namespace hearth::server
