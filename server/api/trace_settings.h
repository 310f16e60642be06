// Triton's settings of traces as they are where nothing is traced, which is always so here.
#pragma once

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"

namespace hearth::server {

// Tells the settings. A setting may be set to what it is, or back to its default; kUnimplemented for any other value,
// kInvalidArgument for a setting that does not exist.
absl::Status AnswerTraceSettings(const inference::TraceSettingRequest& request,
                                 inference::TraceSettingResponse& response);

}  // namespace hearth::server
