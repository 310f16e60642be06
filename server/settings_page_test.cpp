#include "server/settings_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

TEST(SettingsPage, TheDocumentHasTheTableOfTheseSettings) {
  std::ostringstream page;
  page << std::ifstream("docs/configuration.md").rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(SettingsTable()))
      << "put what `hearthd --print-settings` prints into docs/configuration.md";
}

TEST(SettingsPage, EverySettingSaysWhatItIsFor) {
  for (const SettingField& field : Fields()) {
    EXPECT_FALSE(field.setting->help().empty()) << field.flag;
    EXPECT_FALSE(field.group.empty()) << field.flag;
  }
}

TEST(SettingsPage, TheSummaryLeavesDefaultsOut) {
  config::Settings settings;
  settings.set_grpc_port(8001);
  EXPECT_EQ(NonDefaultSettings(settings, settings), "");
  settings.set_max_plans(7);
  settings.set_kept_memory(0);
  EXPECT_EQ(NonDefaultSettings(settings, settings), "kept_memory 0, max_plans 7");
}

TEST(SettingsPage, ASecretIsNotShown) {
  // No setting is one yet: a copy of its description says so.
  SettingField field = *FindField("id");
  config::Setting secret = *field.setting;
  secret.set_secret(true);
  field.setting = &secret;
  config::Settings settings;
  EXPECT_EQ(PublicTextOf(field, settings), "hearth");
  settings.set_id("key");
  EXPECT_EQ(PublicTextOf(field, settings), "(hidden)");
}

}  // namespace
}  // namespace hearth::server
