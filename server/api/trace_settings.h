// Triton's settings of traces over the server's own. Without a collector nothing is traced: then a setting may be set
// to what it is, or back to its default. With one, trace_level (OFF, or TIMESTAMPS for requests), trace_rate and
// trace_count may be changed, for all models alike.
#pragma once

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {

// Tells the settings, after the request's changes. `tracer` is null where there is no collector. kUnimplemented for a
// value that cannot be, kInvalidArgument for a setting that does not exist or has no such value.
absl::Status AnswerTraceSettings(const inference::TraceSettingRequest& request,
                                 inference::TraceSettingResponse& response, Tracer* tracer);

}  // namespace hearth::server
