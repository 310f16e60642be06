// What certificates and tokens are logged to.
#pragma once

#include "jit/support/logging.h"

namespace hearth::server {

inline spdlog::logger& SecurityLog() {
  static spdlog::logger& log = LoggerOf("security");
  return log;
}

}  // namespace hearth::server
