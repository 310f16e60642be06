// The daemon's process: command line, signals, exit status.
//
// When every model has been loaded or has failed, one machine-readable line is printed on standard output, without the
// ports that are not allowed:
//   {"event":"ready","grpc_port":8001,"http_port":8000,"metrics_port":8002,"models_ready":2,"pid":4711}
// With exit_on_error and a model that failed, the process ends instead. SIGTERM or SIGINT drains; a second one ends the
// process at once. SIGHUP reopens the files of the log and of the access log, and reads certificates and tokens again.
// All of that is told to a manager of services too (service_manager.h).
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "jit/runtime.h"

namespace hearth::server {

using RuntimeFactory = std::function<absl::StatusOr<std::unique_ptr<Runtime>>(const RuntimeOptions&)>;

// Returns the exit status: 0 after a drain, 1 if it cannot serve or a model has failed, 2 for a wrong command line.
// Where a GPU has failed, the process drains what does not need it and ends with 3, without returning. Call from main,
// before any thread has been started.
int Serve(int argc, const char* const* argv, const RuntimeFactory& make_runtime);

}  // namespace hearth::server
