// Bodies of the methods about settings and shared memory, whose JSON is not that of their messages.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"
#include "server/rest/json_value.h"

namespace hearth::server {

// A setting that is null gets its default back; its values come as text, and those of trace_level as an array of it.
absl::Status ReadTraceSettings(const JsonValue& body, inference::TraceSettingRequest& request);
std::string TraceSettingsJson(const inference::TraceSettingResponse& response);

// A setting that is null stays as it is.
absl::Status ReadLogSettings(const JsonValue& body, inference::LogSettingsRequest& request);
std::string LogSettingsJson(const inference::LogSettingsResponse& response);

absl::Status ReadRegion(const JsonValue& body, inference::SystemSharedMemoryRegisterRequest& request);
absl::Status ReadRegion(const JsonValue& body, inference::CudaSharedMemoryRegisterRequest& request);

// An array of the regions.
std::string RegionsJson(const inference::SystemSharedMemoryStatusResponse& response);
std::string RegionsJson(const inference::CudaSharedMemoryStatusResponse& response);

}  // namespace hearth::server
