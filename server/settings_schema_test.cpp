#include "server/settings_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SettingsSchema, FlagsFollowFromTheNamesAndNoTwoAreTheSame) {
  EXPECT_THAT(FindField("model_repository")->flags, ElementsAre("--model-repository", "--model-store"));
  EXPECT_EQ(FindField("model-repository"), nullptr);
  std::set<std::string> flags;
  for (const SettingField& field : Fields()) {
    for (const std::string& flag : field.flags) EXPECT_TRUE(flags.insert(flag).second) << flag;
  }
}

TEST(SettingsSchema, SizesAreRead) {
  EXPECT_EQ(*BytesFromText("0"), 0);
  EXPECT_EQ(*BytesFromText("1048576"), 1 << 20);
  EXPECT_EQ(*BytesFromText("500MB"), 500 << 20);
  EXPECT_EQ(*BytesFromText("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(*BytesFromText("2 gib"), int64_t{2} << 30);
  for (const char* wrong : {"", "-1", "GiB", "1.5.", "1XB", "99999999999999999999", "9999999999TiB"}) {
    EXPECT_FALSE(BytesFromText(wrong).ok()) << wrong;
  }
}

TEST(SettingsSchema, ValuesAreReadAndWritten) {
  config::Settings settings;
  EXPECT_TRUE(SetFromText(*FindField("grpc_port"), "9000", settings).ok());
  EXPECT_TRUE(SetFromText(*FindField("plan_bytes"), "3MiB", settings).ok());
  EXPECT_TRUE(SetFromText(*FindField("shadow_share"), "0.5", settings).ok());
  EXPECT_TRUE(SetFromText(*FindField("compiler"), "OFF", settings).ok());
  EXPECT_TRUE(SetFromText(*FindField("model_repository"), "a", settings).ok());
  EXPECT_TRUE(SetFromText(*FindField("model_repository"), "b", settings).ok());
  EXPECT_EQ(TextOf(*FindField("grpc_port"), settings), "9000");
  EXPECT_EQ(TextOf(*FindField("plan_bytes"), settings), "3 MiB");
  EXPECT_EQ(TextOf(*FindField("shadow_share"), settings), "0.5");
  EXPECT_EQ(TextOf(*FindField("compiler"), settings), "false");
  EXPECT_EQ(TextOf(*FindField("model_repository"), settings), "[a, b]");
  EXPECT_EQ(TextOf(*FindField("memory_limit"), settings), "");
  EXPECT_TRUE(IsSet(*FindField("grpc_port"), settings));
  EXPECT_FALSE(IsSet(*FindField("http_port"), settings));
}

TEST(SettingsSchema, WhatIsNoValueIsRefusedAndChangesNothing) {
  config::Settings settings;
  for (const auto& [name, text] :
       {std::pair("grpc_port", "1x"), std::pair("grpc_port", "99999999999"), std::pair("load_seconds", "soon"),
        std::pair("compiler", "2"), std::pair("max_plans", "2GiB"), std::pair("plan_bytes", "two")}) {
    const absl::Status status = SetFromText(*FindField(name), text, settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(status.message(), HasSubstr(text));
    EXPECT_FALSE(IsSet(*FindField(name), settings));
  }
}

}  // namespace
}  // namespace hearth::server
