// The log's settings that clients may see and change (Triton's LogSettings). The levels are those of the program's
// loggers (logging.h), each of which includes the graver ones; levels that the environment's HEARTH_LOG gives to single
// loggers stay. Thread-safe.
#pragma once

#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"

namespace hearth::server {

class LogSettings {
 public:
  // What HEARTH_LOG says.
  LogSettings();

  // Changes the settings that the request names, all or none, and tells what holds then. kInvalidArgument for a setting
  // that does not exist, has another type or cannot be so; kUnimplemented for one that cannot be changed here.
  absl::Status Update(const inference::LogSettingsRequest& request, inference::LogSettingsResponse& response);

 private:
  struct Levels {
    uint32_t verbose = 0;
    bool info = true;
    bool warning = true;
    bool error = true;
  };

  static absl::Status Change(const std::string& name, const inference::LogSettingsRequest::SettingValue& value,
                             Levels& levels);
  void Apply() const;

  const std::string environment_;
  std::mutex mutex_;
  Levels levels_;
};

}  // namespace hearth::server
