#include "server/repository/change_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Stamps = ChangeTracker::Stamps;

TEST(ChangeTracker, WhatStaysAsItWasLoadedIsLeftAlone) {
  ChangeTracker tracker(Stamps{{"m", "1"}});
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
}

TEST(ChangeTracker, AChangeIsReportedOnceItHasSettled) {
  ChangeTracker tracker(Stamps{{"m", "1"}});
  EXPECT_THAT(tracker.Look({{"m", "2"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "3"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "3"}}), ElementsAre("m"));
  EXPECT_THAT(tracker.Look({{"m", "3"}}), IsEmpty());
}

TEST(ChangeTracker, WhatChangesBackIsNoChange) {
  ChangeTracker tracker(Stamps{{"m", "1"}});
  EXPECT_THAT(tracker.Look({{"m", "2"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
}

TEST(ChangeTracker, ANewModelIsReportedWhenItsFilesHaveSettled) {
  ChangeTracker tracker(Stamps{});
  EXPECT_THAT(tracker.Look({{"a", "1"}, {"b", "1"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"a", "2"}, {"b", "1"}}), ElementsAre("b"));
  EXPECT_THAT(tracker.Look({{"a", "2"}, {"b", "1"}}), ElementsAre("a"));
}

TEST(ChangeTracker, AModelThatIsGoneIsReportedOnce) {
  ChangeTracker tracker(Stamps{{"m", "1"}});
  EXPECT_THAT(tracker.Look({}), IsEmpty());
  EXPECT_THAT(tracker.Look({}), ElementsAre("m"));
  EXPECT_THAT(tracker.Look({}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), ElementsAre("m"));
}

TEST(ChangeTracker, AModelThatWasGoneForAMomentIsLeftAlone) {
  ChangeTracker tracker(Stamps{{"m", "1"}});
  EXPECT_THAT(tracker.Look({}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
  EXPECT_THAT(tracker.Look({{"m", "1"}}), IsEmpty());
}

}  // namespace
}  // namespace hearth::server
