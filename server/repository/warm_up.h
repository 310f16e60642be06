// Makes a version ready for its first request: runs the samples that its configuration has (model_warmup), then waits
// for what is compiled for them, and for what earlier processes were called with, and runs the samples again.
#pragma once

#include <chrono>

#include "absl/status/status.h"
#include "server/repository/servable.h"

namespace hearth::server {

// Waits on the calling thread. The samples, and then the compiler, have `limit` together; a limit of 0 is none. A
// sample that fails, or is not done by then, is an error that names it; plans that are not compiled by then are so
// while the version serves, and that is logged.
absl::Status WarmUp(const Servable& servable, std::chrono::duration<double> limit);

}  // namespace hearth::server
