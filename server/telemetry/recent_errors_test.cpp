#include "server/telemetry/recent_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::EndsWith;
using Kind = RecentErrors::Kind;

TEST(RecentErrors, TheLatestAreKeptAndComeFirst) {
  RecentErrors errors;
  for (int i = 0; i < 100; ++i) errors.Add(Kind::kModel, "m", "1", absl::InternalError(std::to_string(i)));
  const auto listed = errors.List(Kind::kModel);
  ASSERT_EQ(listed.size(), RecentErrors::kMost);
  EXPECT_EQ(listed.front().message, "99");
  EXPECT_EQ(listed.back().message, std::to_string(100 - RecentErrors::kMost));
}

TEST(RecentErrors, EqualErrorsAreCountedAsOne) {
  RecentErrors errors;
  errors.Add(Kind::kModel, "m", "1", absl::InternalError("a"));
  errors.Add(Kind::kModel, "m", "1", absl::InternalError("b"));
  errors.Add(Kind::kModel, "m", "1", absl::InternalError("a"));
  errors.Add(Kind::kModel, "n", "1", absl::InternalError("a"));
  const auto listed = errors.List(Kind::kModel);
  ASSERT_EQ(listed.size(), 3);
  EXPECT_EQ(listed[0].model, "n");
  EXPECT_EQ(listed[1].message, "a");
  EXPECT_EQ(listed[1].count, 2);
  EXPECT_EQ(listed[2].count, 1);
}

TEST(RecentErrors, RefusedRequestsDoNotPushOutTheModelsErrors) {
  RecentErrors errors;
  errors.Add(Kind::kModel, "m", "1", absl::InternalError("raised"));
  for (int i = 0; i < 100; ++i) errors.Add(Kind::kRefused, std::to_string(i), "", absl::NotFoundError("unknown"));
  EXPECT_EQ(errors.List(Kind::kModel).size(), 1);
  EXPECT_EQ(errors.List(Kind::kRefused).size(), RecentErrors::kMost);
}

TEST(RecentErrors, TextsAreCutAndSayByHowMuch) {
  RecentErrors errors;
  errors.Add(Kind::kRefused, std::string(10'000, 'm'), "1",
             absl::InvalidArgumentError(std::string(RecentErrors::kMostMessageBytes + 7, 'x')));
  const auto listed = errors.List(Kind::kRefused);
  EXPECT_THAT(listed[0].message, EndsWith("x... (7 more bytes)"));
  EXPECT_LT(listed[0].model.size(), RecentErrors::kMostNameBytes + 40);
}

}  // namespace
}  // namespace hearth::server
