// Profiled calls in the Trace Event Format of Chrome, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a
// slice for each call and, below it, one for each operator, by threads; and those of a GPU on tracks of their own.
#pragma once

#include <string>
#include <vector>

#include "server/repository/call_profiler.h"

namespace hearth::server {

struct ChromeTrace {
  std::string json;
  size_t operators = 0;
};

// `process` is what the trace calls the process: the model and its version.
ChromeTrace WriteChromeTrace(const std::string& process, const std::vector<ProfiledCall>& calls);

}  // namespace hearth::server
