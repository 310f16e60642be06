// How a request's end counts for its model: one of a client's, or of a step of an ensemble.
#pragma once

#include "absl/status/status.h"
#include "server/scheduling/dispatched_call.h"
#include "server/telemetry/model_statistics.h"

namespace hearth::server {

struct EndedRequest {
  absl::Status status;
  RequestTimes times;
  int64_t rows = 1;           // batch elements
  Execution execution;        // the run that answered it
  bool admitted = false;      // by the dispatcher
  bool began = false;         // its run did
  bool ran_too_long = false;  // for the model, and not for its deadline
};

// Whether the model is to blame: it raised, wanted more memory than it may have, or took too long.
bool ModelFailed(const EndedRequest& request);

void CountRequest(const EndedRequest& request, ModelStatistics& statistics);

}  // namespace hearth::server
