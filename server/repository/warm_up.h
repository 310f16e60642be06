// Makes a version ready for its first request: runs the samples that its configuration has (model_warmup), then waits
// for what is compiled for them, and for what earlier processes were called with, and runs the samples again.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "absl/status/status.h"
#include "server/repository/servable.h"

namespace hearth::server {

struct WarmUpLimits {
  // Of the samples, and then the compiler, together; 0: no limit.
  std::chrono::duration<double> time{0};
  // Bytes that making the tensors of one sample may come to hold; 0: no limit.
  int64_t memory = 0;
  // Ends it, with kCancelled.
  std::stop_token stop;
};

// Waits on the calling thread. A sample that fails, or is not done in time, is an error that names it; plans that are
// not compiled by then are so while the version serves, and that is logged.
absl::Status WarmUp(const Servable& servable, const WarmUpLimits& limits);

}  // namespace hearth::server
