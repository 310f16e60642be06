#include "server/telemetry/log_control.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"

namespace hearth::server {
namespace {

const char* LevelOf(const LogLevels& levels) {
  if (levels.verbose > 1) return "trace";
  if (levels.verbose > 0) return "debug";
  if (levels.info) return "info";
  if (levels.warning) return "warn";
  return levels.error ? "error" : "off";
}

}  // namespace

void ApplyLogLevels(const LogLevels& levels) {
  const char* environment = std::getenv("HEARTH_LOG");
  const char* level = LevelOf(levels);
  try {
    SetLogLevels(absl::StrCat(environment == nullptr ? "" : environment, ",", level));
  } catch (const std::invalid_argument&) {
    // Of HEARTH_LOG, which was complained about when the first line was logged.
    SetLogLevels(level);
  }
}

}  // namespace hearth::server
