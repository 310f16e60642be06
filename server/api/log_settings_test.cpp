#include "server/api/log_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/support/logging.h"

namespace hearth::server {
namespace {

using inference::LogSettingsRequest;
using inference::LogSettingsResponse;

class LogSettingsTest : public ::testing::Test {
 protected:
  ~LogSettingsTest() override {
    unsetenv("HEARTH_LOG");
    SetLogLevels("");
  }
  static LogSettingsResponse Now(LogSettings& settings) {
    LogSettingsResponse response;
    EXPECT_TRUE(settings.Update({}, response).ok());
    return response;
  }
};

TEST_F(LogSettingsTest, TheEnvironmentSaysWhatHoldsAtFirst) {
  setenv("HEARTH_LOG", "api=debug,warn", 1);
  LogSettings settings(LogLevelsOfEnvironment(), "", "default");
  const LogSettingsResponse response = Now(settings);
  EXPECT_FALSE(response.settings().at("log_info").bool_param());
  EXPECT_TRUE(response.settings().at("log_warning").bool_param());
  EXPECT_EQ(response.settings().at("log_verbose_level").uint32_param(), 0u);
}

TEST_F(LogSettingsTest, LevelsOfSingleLoggersStay) {
  setenv("HEARTH_LOG", "quiet=error,info", 1);
  LogSettings settings(LogLevelsOfEnvironment(), "", "default");
  LogSettingsRequest request;
  (*request.mutable_settings())["log_verbose_level"].set_uint32_param(1);
  LogSettingsResponse response;
  ASSERT_TRUE(settings.Update(request, response).ok());
  EXPECT_EQ(LoggerOf("other").level(), spdlog::level::debug);
  EXPECT_EQ(LoggerOf("quiet").level(), spdlog::level::err);
}

TEST_F(LogSettingsTest, AnEnvironmentThatIsNoLevelsIsPassedOver) {
  setenv("HEARTH_LOG", "loud", 1);
  LogSettings settings(LogLevelsOfEnvironment(), "", "default");
  LogSettingsRequest request;
  (*request.mutable_settings())["log_info"].set_bool_param(false);
  LogSettingsResponse response;
  ASSERT_TRUE(settings.Update(request, response).ok());
  EXPECT_EQ(LoggerOf("other").level(), spdlog::level::warn);
}

TEST_F(LogSettingsTest, AllOrNothingIsChanged) {
  LogSettings settings(LogLevelsOfEnvironment(), "", "default");
  LogSettingsRequest request;
  (*request.mutable_settings())["log_info"].set_bool_param(false);
  (*request.mutable_settings())["log_verbose_level"].set_string_param("2");
  LogSettingsResponse response;
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Update(request, response)));
  EXPECT_TRUE(Now(settings).settings().at("log_info").bool_param());
}

}  // namespace
}  // namespace hearth::server
