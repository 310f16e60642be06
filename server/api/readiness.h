// Whether the server as a whole takes requests; shared by every protocol.
#pragma once

#include <atomic>

#include "server/repository/repository.h"

namespace hearth::server {

struct Readiness {
  bool strict = false;  // a model that failed to load makes the server not ready
  std::atomic<bool> draining{false};

  bool Ready(const Repository& repository) const {
    return !draining && (strict ? repository.AllReady() : repository.started());
  }
};

}  // namespace hearth::server
