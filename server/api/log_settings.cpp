#include "server/api/log_settings.h"

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/support/logging.h"

namespace hearth::server {
namespace {

using Value = inference::LogSettingsRequest::SettingValue;

// Lines begin with their time in the form of ISO 8601.
constexpr const char* kFormat = "ISO8601";

std::string Environment() {
  const char* text = std::getenv("HEARTH_LOG");
  return text == nullptr ? "" : text;
}

absl::Status WrongType(const std::string& name, const char* type) {
  return absl::InvalidArgumentError(absl::StrCat("the log setting '", name, "' must be a ", type));
}

absl::Status ChangeLevel(const std::string& name, const Value& value, bool& level) {
  if (!value.has_bool_param()) return WrongType(name, "bool");
  level = value.bool_param();
  return absl::OkStatus();
}

}  // namespace

LogSettings::LogSettings() : environment_(Environment()) {
  for (const absl::string_view item : absl::StrSplit(environment_, ',')) {
    if (item == "trace") levels_ = {.verbose = 2};
    if (item == "debug") levels_ = {.verbose = 1};
    if (item == "info") levels_ = {};
    if (item == "warn") levels_ = {.info = false};
    if (item == "error") levels_ = {.info = false, .warning = false};
    if (item == "critical" || item == "off") levels_ = {.info = false, .warning = false, .error = false};
  }
}

absl::Status LogSettings::Change(const std::string& name, const Value& value, Levels& levels) {
  if (name == "log_info") return ChangeLevel(name, value, levels.info);
  if (name == "log_warning") return ChangeLevel(name, value, levels.warning);
  if (name == "log_error") return ChangeLevel(name, value, levels.error);
  if (name == "log_verbose_level") {
    if (!value.has_uint32_param()) return WrongType(name, "uint32");
    levels.verbose = value.uint32_param();
    return absl::OkStatus();
  }
  if (name == "log_format") {
    if (!value.has_string_param()) return WrongType(name, "string");
    if (value.string_param() == kFormat) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("the log has one format, ", kFormat, "; log_format cannot be '", value.string_param(), "'"));
  }
  if (name == "log_file") {
    return absl::UnimplementedError("log file location can not be updated through network protocol");
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no log setting '", name, "'"));
}

void LogSettings::Apply() const {
  const char* level = levels_.verbose > 1    ? "trace"
                      : levels_.verbose == 1 ? "debug"
                      : levels_.info         ? "info"
                      : levels_.warning      ? "warn"
                      : levels_.error        ? "error"
                                             : "off";
  try {
    // The last level without a logger's name is the one of all others.
    SetLogLevels(absl::StrCat(environment_, ",", level));
  } catch (const std::invalid_argument&) {
    SetLogLevels(level);  // what the environment says was no levels, and is not used
  }
}

absl::Status LogSettings::Update(const inference::LogSettingsRequest& request,
                                 inference::LogSettingsResponse& response) {
  const std::lock_guard lock(mutex_);
  Levels levels = levels_;
  for (const auto& [name, value] : request.settings()) {
    if (absl::Status status = Change(name, value, levels); !status.ok()) return status;
  }
  if ((levels.info && !levels.warning) || (levels.warning && !levels.error)) {
    return absl::InvalidArgumentError(
        "each level of the log includes the graver ones: log_info needs log_warning, and that needs log_error");
  }
  if (levels.verbose > 0 && !levels.info) {
    return absl::InvalidArgumentError(
        "each level of the log includes the graver ones: log_verbose_level needs log_info");
  }
  if (request.settings_size() > 0) {
    levels_ = levels;
    Apply();
  }
  auto& settings = *response.mutable_settings();
  settings["log_file"].set_string_param("");
  settings["log_info"].set_bool_param(levels_.info);
  settings["log_warning"].set_bool_param(levels_.warning);
  settings["log_error"].set_bool_param(levels_.error);
  settings["log_verbose_level"].set_uint32_param(levels_.verbose);
  settings["log_format"].set_string_param(kFormat);
  return absl::OkStatus();
}

}  // namespace hearth::server
