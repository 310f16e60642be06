#include "server/repository/version_routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

inference::ModelConfig ConfigOf(const std::string& labels, const std::string& split) {
  inference::ModelConfig config;
  config.set_name("m");
  auto& parameters = *config.mutable_parameters();
  if (!labels.empty()) parameters[kVersionLabels].set_string_value(labels);
  if (!split.empty()) parameters[kTrafficSplit].set_string_value(split);
  return config;
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(VersionRouting, LabelsAndPartsAreRead) {
  const auto routing = RoutingOf(ConfigOf(" stable=1,canary = 12", "canary=10, 1=90"));
  ASSERT_TRUE(routing.ok()) << routing.status();
  EXPECT_THAT(routing->labels, ElementsAre(Pair("canary", 12), Pair("stable", 1)));
  EXPECT_THAT(routing->percents, ElementsAre(Pair(1, 90), Pair(12, 10)));
  const auto none = RoutingOf(ConfigOf("", ""));
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->labels, IsEmpty());
  EXPECT_THAT(none->percents, IsEmpty());
}

TEST(VersionRouting, WhatIsWrongIsNamed) {
  struct Case {
    std::string labels, split, message;
  };
  std::string many = "a=1";
  for (size_t i = 1; i <= kMostVersionLabels; ++i) absl::StrAppend(&many, ",a", i, "=1");
  for (const Case& wrong : {Case{"stable", "", "version_labels has the part 'stable'"},
                            {"stable=one", "", "version_labels has the part 'stable=one'"},
                            {"stable=1,", "", "version_labels has the part ''"},
                            {"1=1", "", "has the label '1'; a label is a letter"},
                            {"a b=1", "", "has the label 'a b'"},
                            {std::string(65, 'a') + "=1", "", "at most 64 in all"},
                            {"stable=0", "", "gives 'stable' the version 0"},
                            {"a=1,a=2", "", "has the label 'a' twice"},
                            {many, "", "version_labels has more than 64 parts"},
                            {"a=1", "b=100", "names 'b': model 'm' has no version label 'b' (its labels: a)"},
                            {"", "0=100", "model version '0' is neither a positive number nor a label"},
                            {"a=1", "a=50,1=50", "has version 1 twice"},
                            {"", "1=101,2=-1", "gives '1' 101; percentages are 0 to 100"},
                            {"", "1=90,2=9", "add up to 99, not to 100"}}) {
    const auto routing = RoutingOf(ConfigOf(wrong.labels, wrong.split));
    EXPECT_EQ(routing.status().code(), absl::StatusCode::kInvalidArgument) << wrong.labels << " " << wrong.split;
    EXPECT_THAT(MessageOf(routing.status()), HasSubstr(wrong.message));
  }
}

TEST(VersionRouting, OnlyVersionsThatAreChosenHaveLabelsAndParts) {
  EXPECT_TRUE(CheckRouting(*RoutingOf(ConfigOf("a=1,b=2", "a=100,b=0")), {1, 2}).ok());
  EXPECT_THAT(MessageOf(CheckRouting(*RoutingOf(ConfigOf("a=1,b=3", "")), {1, 2})),
              HasSubstr("the label 'b' is version 3, but the version policy chooses 1, 2"));
  EXPECT_THAT(MessageOf(CheckRouting(*RoutingOf(ConfigOf("", "1=0,3=100")), {1, 2})),
              HasSubstr("traffic_split names version 3, but"));
}

TEST(VersionRouting, AVersionIsNamedByNumberOrLabel) {
  const VersionRouting routing = *RoutingOf(ConfigOf("canary=2", ""));
  EXPECT_EQ(*VersionNamed("", routing, "m"), 0);
  EXPECT_EQ(*VersionNamed("7", routing, "m"), 7);
  EXPECT_EQ(*VersionNamed("canary", routing, "m"), 2);
  EXPECT_EQ(VersionNamed("Canary", routing, "m").status().code(), absl::StatusCode::kNotFound);
  for (const char* wrong : {"0", "-1", "1.5", " ", "a b"}) {
    EXPECT_EQ(VersionNamed(wrong, routing, "m").status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(VersionRouting, TurnsAreAsManyAsThePercentagesSayAndEvenlySpread) {
  const std::vector<int64_t> turns = TurnsOf({{1, 75}, {2, 20}, {3, 5}, {4, 0}});
  ASSERT_EQ(turns.size(), 100u);
  EXPECT_EQ(turns.front(), 1);
  EXPECT_EQ(std::ranges::count(turns, 1), 75);
  EXPECT_EQ(std::ranges::count(turns, 2), 20);
  EXPECT_EQ(std::ranges::count(turns, 3), 5);
  for (size_t i = 0; i < turns.size(); i += 20) {
    EXPECT_EQ(std::count(turns.begin() + i, turns.begin() + i + 20, 2), 4) << i;
    EXPECT_EQ(std::count(turns.begin() + i, turns.begin() + i + 20, 3), 1) << i;
  }
  EXPECT_THAT(TurnsOf({{1, 2}, {2, 1}}), ElementsAre(1, 2, 1));
  EXPECT_THAT(TurnsOf({{1, 0}}), IsEmpty());
}

}  // namespace
}  // namespace hearth::server
