#include "server/repository/served_set.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

TEST(ServedSet, ConfigurationsThatDifferInTheChoiceOfVersionsAloneServeAlike) {
  const inference::ModelConfig plain;
  inference::ModelConfig other;
  other.mutable_version_policy()->mutable_all();
  for (const char* parameter : {"version_labels", "traffic_split", "keep_previous"}) {
    (*other.mutable_parameters())[parameter].set_string_value("a=1");
  }
  EXPECT_TRUE(ServeAlike(plain, other));
  other.set_max_batch_size(4);
  EXPECT_FALSE(ServeAlike(plain, other));
  other = plain;
  (*other.mutable_parameters())["memory_limit"].set_string_value("1");
  EXPECT_FALSE(ServeAlike(plain, other));
}

}  // namespace
}  // namespace hearth::server
