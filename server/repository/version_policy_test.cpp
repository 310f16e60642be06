#include "server/repository/version_policy.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::vector<int64_t>> Choose(const std::string& policy, std::vector<int64_t> available) {
  inference::ModelVersionPolicy parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(policy, &parsed));
  return ChooseVersions(parsed, available);
}

TEST(VersionPolicy, TheLatestVersionIsServedByDefault) {
  EXPECT_THAT(*Choose("", {1, 2, 10}), ElementsAre(10));
  EXPECT_THAT(*Choose("latest {}", {1, 2, 10}), ElementsAre(10));
}

TEST(VersionPolicy, LatestServesAsManyAsThereAre) {
  EXPECT_THAT(*Choose("latest { num_versions: 2 }", {1, 2, 10}), ElementsAre(2, 10));
  EXPECT_THAT(*Choose("latest { num_versions: 7 }", {1, 2}), ElementsAre(1, 2));
}

TEST(VersionPolicy, AllServesEveryVersion) { EXPECT_THAT(*Choose("all {}", {3, 4}), ElementsAre(3, 4)); }

TEST(VersionPolicy, SpecificServesWhatItNames) {
  EXPECT_THAT(*Choose("specific { versions: [3, 1] }", {1, 2, 3}), ElementsAre(1, 3));
}

TEST(VersionPolicy, AMissingSpecificVersionIsNamed) {
  const auto versions = Choose("specific { versions: [1, 5] }", {1, 2});
  ASSERT_EQ(versions.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(versions.status().message()), HasSubstr("asks for 5; there are 1, 2"));
}

TEST(VersionPolicy, NoVersionAtAllIsAnError) {
  EXPECT_EQ(Choose("all {}", {}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hearth::server
