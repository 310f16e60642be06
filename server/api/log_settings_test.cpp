#include "server/api/log_settings.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "jit/support/logging.h"

namespace hearth::server {
namespace {

using inference::LogSettingsRequest;
using inference::LogSettingsResponse;

class LogSettingsTest : public ::testing::Test {
 protected:
  ~LogSettingsTest() override { SetLogLevels(""); }
  static LogSettingsResponse Now(LogSettings& settings) {
    LogSettingsResponse response;
    EXPECT_TRUE(settings.Update({}, response).ok());
    return response;
  }
};

TEST_F(LogSettingsTest, TheStartSaysWhatHoldsAtFirst) {
  LogSettings settings({.verbose = 0, .info = false}, "json");
  const LogSettingsResponse response = Now(settings);
  EXPECT_FALSE(response.settings().at("log_info").bool_param());
  EXPECT_TRUE(response.settings().at("log_warning").bool_param());
  EXPECT_EQ(response.settings().at("log_format").string_param(), "json");
}

TEST_F(LogSettingsTest, ChangedLevelsHold) {
  LogSettings settings({}, "default");
  LogSettingsRequest request;
  (*request.mutable_settings())["log_verbose_level"].set_uint32_param(UINT32_MAX);
  LogSettingsResponse response;
  ASSERT_TRUE(settings.Update(request, response).ok());
  EXPECT_EQ(LoggerOf("other").level(), spdlog::level::trace);
}

TEST_F(LogSettingsTest, AllOrNothingIsChanged) {
  LogSettings settings({}, "default");
  LogSettingsRequest request;
  (*request.mutable_settings())["log_info"].set_bool_param(false);
  (*request.mutable_settings())["log_verbose_level"].set_string_param("2");
  LogSettingsResponse response;
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Update(request, response)));
  EXPECT_TRUE(Now(settings).settings().at("log_info").bool_param());
}

}  // namespace
}  // namespace hearth::server
