// What the daemon as a whole logs to.
#pragma once

#include "jit/support/logging.h"

namespace hearth::server {

inline spdlog::logger& ServerLog() {
  static spdlog::logger& log = LoggerOf("server");
  return log;
}

}  // namespace hearth::server
