#include "server/triton_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::string> Judge(const std::string& name, const std::string& value) {
  for (const TritonFlag& flag : TritonFlags()) {
    if (flag.flag == name) return JudgeTritonFlag(flag, value);
  }
  return absl::NotFoundError(name);
}

TEST(TritonFlags, NoneIsASettingToo) {
  std::set<std::string> flags;
  for (const SettingField& field : Fields()) flags.insert(field.flags.begin(), field.flags.end());
  for (const TritonFlag& flag : TritonFlags()) {
    EXPECT_TRUE(flags.insert(flag.flag).second) << flag.flag;
    EXPECT_FALSE(flag.meaning->why().empty()) << flag.flag;
  }
}

TEST(TritonFlags, WhatHasNoEffectIsAWarningAndWhatClientsWouldRelyOnIsRefused) {
  EXPECT_EQ(*Judge("--http-thread-count", "1"),
            "--http-thread-count has no effect: one thread carries all connections of HTTP");
  EXPECT_THAT(*Judge("--strict-model-config", "False"), HasSubstr("has no effect"));
  EXPECT_EQ(Judge("--model-namespacing", "true").status().message(),
            "--model-namespacing is not offered: a model's name is in one repository alone");
  EXPECT_EQ(*Judge("--model-namespacing", "false"), "");
  EXPECT_EQ(Judge("--model-namespacing", "maybe").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TritonFlags, TheDocumentHasTheTableOfTheseFlags) {
  std::ostringstream page;
  page << std::ifstream("docs/migrating.md").rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(TritonFlagsTable()))
      << "put what `hearthd --print-triton-flags` prints into docs/migrating.md";
}

}  // namespace
}  // namespace hearth::server
