// The log's settings that clients may see and change (Triton's LogSettings): its levels, each of which includes the
// graver ones (log_control.h). Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"
#include "server/telemetry/log_control.h"

namespace hearth::server {

class LogSettings {
 public:
  // `levels` and `format` are what holds at first.
  LogSettings(LogLevels levels, std::string format) : format_(std::move(format)), levels_(levels) {}

  // Changes the settings that the request names, all or none, and tells what holds then. kInvalidArgument for a setting
  // that does not exist, has another type or cannot be so; kUnimplemented for one that cannot be changed here.
  absl::Status Update(const inference::LogSettingsRequest& request, inference::LogSettingsResponse& response);

 private:
  absl::Status Change(const std::string& name, const inference::LogSettingsRequest::SettingValue& value,
                      LogLevels& levels) const;

  const std::string format_;
  std::mutex mutex_;
  LogLevels levels_;
};

}  // namespace hearth::server
