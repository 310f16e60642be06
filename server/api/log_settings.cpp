#include "server/api/log_settings.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

using Value = inference::LogSettingsRequest::SettingValue;

absl::Status WrongType(const std::string& name, const char* type) {
  return absl::InvalidArgumentError(absl::StrCat("the log setting '", name, "' must be a ", type));
}

absl::Status ChangeLevel(const std::string& name, const Value& value, bool& level) {
  if (!value.has_bool_param()) return WrongType(name, "bool");
  level = value.bool_param();
  return absl::OkStatus();
}

}  // namespace

absl::Status LogSettings::Change(const std::string& name, const Value& value, LogLevels& levels) const {
  if (name == "log_info") return ChangeLevel(name, value, levels.info);
  if (name == "log_warning") return ChangeLevel(name, value, levels.warning);
  if (name == "log_error") return ChangeLevel(name, value, levels.error);
  if (name == "log_verbose_level") {
    if (!value.has_uint32_param()) return WrongType(name, "uint32");
    levels.verbose = static_cast<int>(std::min<uint32_t>(value.uint32_param(), INT32_MAX));
    return absl::OkStatus();
  }
  if (name == "log_format") {
    if (!value.has_string_param()) return WrongType(name, "string");
    if (value.string_param() == format_) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("the log's format stays '", format_,
                                                 "', which --log-format chose at the start; it cannot become '",
                                                 value.string_param(), "'"));
  }
  if (name == "log_file") {
    return absl::UnimplementedError("log file location can not be updated through network protocol");
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no log setting '", name, "'"));
}

absl::Status LogSettings::Update(const inference::LogSettingsRequest& request,
                                 inference::LogSettingsResponse& response) {
  const std::lock_guard lock(mutex_);
  LogLevels levels = levels_;
  for (const auto& [name, value] : request.settings()) {
    if (absl::Status status = Change(name, value, levels); !status.ok()) return status;
  }
  const bool changes = request.settings_size() > 0;
  if (changes && ((levels.info && !levels.warning) || (levels.warning && !levels.error))) {
    return absl::InvalidArgumentError(
        "each level of the log includes the graver ones: log_info needs log_warning, and that needs log_error");
  }
  if (changes && levels.verbose > 0 && !levels.info) {
    return absl::InvalidArgumentError(
        "each level of the log includes the graver ones: log_verbose_level needs log_info");
  }
  if (changes) {
    levels_ = levels;
    ApplyLogLevels(levels);
  }
  auto& settings = *response.mutable_settings();
  settings["log_file"].set_string_param(file_);
  settings["log_info"].set_bool_param(levels_.info);
  settings["log_warning"].set_bool_param(levels_.warning);
  settings["log_error"].set_bool_param(levels_.error);
  settings["log_verbose_level"].set_uint32_param(static_cast<uint32_t>(levels_.verbose));
  settings["log_format"].set_string_param(format_);
  return absl::OkStatus();
}

}  // namespace hearth::server
