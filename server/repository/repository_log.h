// What loads and unloads of models are logged to.
#pragma once

#include "jit/support/logging.h"

namespace hearth::server {

inline spdlog::logger& RepositoryLog() {
  static spdlog::logger& log = LoggerOf("repository");
  return log;
}

}  // namespace hearth::server
