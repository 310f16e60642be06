#include "server/nearest_name.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

TEST(NearestName, TheFewestEditsWin) {
  const std::vector<std::string> names = {"--http-port", "--grpc-port", "--host"};
  EXPECT_EQ(NearestName("--grpc-prot", names), "--grpc-port");
  EXPECT_EQ(NearestName("--hots", names), "--host");
  EXPECT_EQ(NearestName("--ttp-port", names), "--http-port");
}

TEST(NearestName, WhatIsFarFromAllHasNone) {
  EXPECT_EQ(NearestName("--zzz", {"--grpc-port"}), "");
  EXPECT_EQ(NearestName("", {"a"}), "");
  EXPECT_EQ(NearestName("a", {}), "");
}

}  // namespace
}  // namespace hearth::server
