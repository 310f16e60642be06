#include "server/telemetry/log_control.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "jit/support/logging.h"

namespace hearth::server {
namespace {

std::string Environment() {
  const char* text = std::getenv("HEARTH_LOG");
  return text == nullptr ? "" : text;
}

const char* LevelOf(const LogLevels& levels) {
  if (levels.verbose > 1) return "trace";
  if (levels.verbose > 0) return "debug";
  if (levels.info) return "info";
  if (levels.warning) return "warn";
  return levels.error ? "error" : "off";
}

}  // namespace

void ApplyLogLevels(const LogLevels& levels) {
  const char* level = LevelOf(levels);
  try {
    // The last level without a logger's name is the one of all others.
    SetLogLevels(absl::StrCat(Environment(), ",", level));
  } catch (const std::invalid_argument&) {
    // Of HEARTH_LOG, which was complained about when the first line was logged.
    SetLogLevels(level);
  }
}

LogLevels LogLevelsOfEnvironment() {
  LogLevels levels;
  for (const absl::string_view item : absl::StrSplit(Environment(), ',')) {
    if (item == "trace") levels = {.verbose = 2};
    if (item == "debug") levels = {.verbose = 1};
    if (item == "info") levels = {};
    if (item == "warn") levels = {.info = false};
    if (item == "error") levels = {.info = false, .warning = false};
    if (item == "critical" || item == "off") levels = {.info = false, .warning = false, .error = false};
  }
  return levels;
}

}  // namespace hearth::server
