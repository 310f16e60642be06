#include "server/repository/queue_settings.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace hearth::server {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

inference::ModelConfig Parse(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

TEST(QueueSettings, EveryFieldIsRead) {
  const auto config = Parse(
      "max_batch_size: 16 dynamic_batching { preferred_batch_size: [ 8, 4 ] max_queue_delay_microseconds: 500"
      "  priority_levels: 3 default_priority_level: 2"
      "  default_queue_policy { max_queue_size: 7 }"
      "  priority_queue_policy { key: 3 value { timeout_action: DELAY default_timeout_microseconds: 90"
      "    allow_timeout_override: true max_queue_size: 5 } } }"
      "instance_group [ { count: 2 }, { gpus: [ 0, 1 ] } ]");
  ASSERT_TRUE(CheckDynamicBatching(config).ok());
  const QueueSettings settings = QueueSettingsOf(config);
  EXPECT_TRUE(settings.batches());
  EXPECT_EQ(settings.max_rows, 16);
  EXPECT_THAT(settings.preferred, ElementsAre(4, 8));
  EXPECT_EQ(settings.delay, microseconds(500));
  EXPECT_EQ(settings.runs, 4);
  EXPECT_EQ(settings.LevelOf(0), 2);
  EXPECT_EQ(settings.LevelOf(3), 3);
  EXPECT_EQ(settings.LevelOf(4), 2);
  EXPECT_EQ(settings.LevelOf(std::numeric_limits<uint64_t>::max()), 2);
  ASSERT_EQ(settings.levels.size(), 3U);
  EXPECT_EQ(settings.PolicyOf(0).max_waiting, 7);
  EXPECT_EQ(settings.PolicyOf(1).timeout, microseconds(0));
  EXPECT_EQ(settings.PolicyOf(3).max_waiting, 5);
  EXPECT_EQ(settings.PolicyOf(3).timeout, microseconds(90));
  EXPECT_TRUE(settings.PolicyOf(3).delays);
  EXPECT_TRUE(settings.PolicyOf(3).may_shorten);
}

TEST(QueueSettings, AGroupThatNamesNoGpuHasInstancesOnEach) {
  const auto config = Parse(
      "max_batch_size: 16 dynamic_batching {} instance_group [ { count: 2 kind: KIND_GPU }, { count: 3 gpus: 0 } ]");
  EXPECT_EQ(QueueSettingsOf(config, 4).runs, 2 * 4 + 3);
  EXPECT_EQ(QueueSettingsOf(config).runs, 2 + 3);
}

TEST(QueueSettings, WhereRequestsAreNotBatchedTheyWaitInAQueueForPrioritiesAndTimeoutsAlone) {
  const auto settings = [](const std::string& text) { return QueueSettingsOf(Parse(text)); };
  EXPECT_FALSE(settings("max_batch_size: 8").queues());
  EXPECT_FALSE(settings("dynamic_batching { default_queue_policy { max_queue_size: 3 } }").queues());
  EXPECT_FALSE(settings("max_batch_size: 1 dynamic_batching { }").queues());
  EXPECT_TRUE(settings("max_batch_size: 2 dynamic_batching { }").batches());
  for (const char* text : {"dynamic_batching { priority_levels: 2 default_priority_level: 1 }",
                           "dynamic_batching { default_queue_policy { default_timeout_microseconds: 1 } }",
                           "dynamic_batching { default_queue_policy { allow_timeout_override: true } }"}) {
    EXPECT_TRUE(settings(text).queues()) << text;
    EXPECT_FALSE(settings(text).batches()) << text;
  }
}

TEST(QueueSettings, TheOrderOfRequestsIsThatOfOneRunAtATime) {
  const auto config =
      Parse("max_batch_size: 8 dynamic_batching { preserve_ordering: true } instance_group { count: 4 }");
  EXPECT_TRUE(QueueSettingsOf(config).keeps_order);
  EXPECT_EQ(QueueSettingsOf(config).runs, 1);
}

TEST(QueueSettings, ADelayOfZeroIsOtherThanNone) {
  EXPECT_EQ(QueueSettingsOf(Parse("max_batch_size: 8 dynamic_batching { }")).delay, std::nullopt);
  EXPECT_EQ(QueueSettingsOf(Parse("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 0 }")).delay,
            microseconds(0));
}

TEST(QueueSettings, TimesBeyondWhatAClockCountsAreAYear) {
  const auto config =
      Parse("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }");
  EXPECT_EQ(QueueSettingsOf(config).delay, std::chrono::hours(24 * 365));
}

TEST(QueueSettings, WhatMakesNoSenseIsRefusedWithWhatWasExpected) {
  const auto refused = [](const std::string& text, const char* message) {
    const absl::Status status = CheckDynamicBatching(Parse("max_batch_size: 8 dynamic_batching { " + text + " }"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  };
  refused("preferred_batch_size: 9", "preferred_batch_size is 9; it must be from 1 to max_batch_size, which is 8");
  refused("preferred_batch_size: 0", "preferred_batch_size is 0");
  refused("priority_levels: 2", "default_priority_level is 0; it must be from 1 to priority_levels, which is 2");
  refused("priority_levels: 2 default_priority_level: 3", "default_priority_level is 3");
  refused("default_priority_level: 1", "needs priority_levels, which is not set");
  refused("priority_levels: 1025 default_priority_level: 1", "a model may have 1024");
  refused("priority_queue_policy { key: 1 value { } }", "a policy for the level 1");
  refused("priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 0 value { } }",
          "a policy for the level 0");
  refused("preserve_ordering: true priority_levels: 2 default_priority_level: 1", "all have the same priority");
  refused("preserve_ordering: true default_queue_policy { timeout_action: DELAY }", "changes the order");
}

TEST(QueueSettings, AllowedSizesAreAListOrAnyAndEndWithTheLargest) {
  const auto config = [](const std::string& sizes) {
    return Parse(
        "max_batch_size: 8 dynamic_batching { } parameters { key: 'allowed_batch_sizes' value { string_value: '" +
        sizes + "' } }");
  };
  EXPECT_FALSE(QueueSettingsOf(Parse("max_batch_size: 8 dynamic_batching { }")).allowed.has_value());
  EXPECT_THAT(QueueSettingsOf(config("any")).allowed, Optional(IsEmpty()));
  EXPECT_THAT(QueueSettingsOf(config("1, 4,8")).allowed, Optional(ElementsAre(1, 4, 8)));
  for (const char* wrong : {"", "1,4", "4,4,8", "0,8", "8,4", "1;8", "1,8,16", "-1,8", "all"}) {
    const absl::Status status = CheckDynamicBatching(config(wrong));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the last is max_batch_size, which is 8")) << wrong;
  }
}

TEST(QueueSettings, WhatHasNoEffectIsNamed) {
  const auto ignored = [](const std::string& text) { return IgnoredOfDynamicBatching(Parse(text)); };
  EXPECT_THAT(ignored("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 9 }"), IsEmpty());
  EXPECT_THAT(ignored("dynamic_batching { default_queue_policy { max_queue_size: 3 } }"), IsEmpty());
  EXPECT_THAT(
      ignored("dynamic_batching { max_queue_delay_microseconds: 9 preserve_ordering: true }"),
      ElementsAre(HasSubstr("max_queue_delay_microseconds (max_batch_size is 0"), HasSubstr("preserve_ordering")));
  EXPECT_THAT(ignored("max_batch_size: 1 dynamic_batching { }"),
              ElementsAre(HasSubstr("dynamic_batching (max_batch_size is 1")));
}

TEST(QueueSettings, APriorityOfTheRateLimiterIsAShareOfOneByIt) {
  const auto weight = [](const std::string& text) { return QueueSettingsOf(Parse(text)).weight; };
  EXPECT_EQ(weight(""), 1);
  EXPECT_EQ(weight("instance_group { rate_limiter { priority: 4 } }"), 0.25);
  EXPECT_EQ(weight("instance_group { rate_limiter { priority: 0 } }"), 1);
  EXPECT_EQ(weight("instance_group [ { rate_limiter { priority: 4 } }, { rate_limiter { priority: 2 } } ]"), 0.5);
}

TEST(QueueSettings, ALimitOfRunsNeedsAQueueAndTheLowestHolds) {
  QueueSettings plain;
  EXPECT_FALSE(plain.queues());
  plain.LimitRuns(3);
  EXPECT_TRUE(plain.queues());
  EXPECT_EQ(plain.runs, 3);
  QueueSettings batched = QueueSettingsOf(Parse("max_batch_size: 8 dynamic_batching {} instance_group { count: 2 }"));
  batched.LimitRuns(3);
  EXPECT_EQ(batched.runs, 2);
}

}  // namespace
}  // namespace hearth::server
