#include "server/api/request_statistics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "server/scheduling/retry_advice.h"

namespace hearth::server {
namespace {

FailureReason ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return FailureReason::kRejected;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return FailureReason::kCanceled;
    default:
      return FailureReason::kOther;
  }
}

}  // namespace

bool ModelFailed(const EndedRequest& request) {
  const absl::Status& status = request.status;
  return request.ran_too_long || status.code() == absl::StatusCode::kInternal ||
         (request.admitted && status.code() == absl::StatusCode::kResourceExhausted && !RetryAfterOf(status));
}

void CountRequest(const EndedRequest& request, ModelStatistics& statistics) {
  if (request.status.ok()) {
    // A runtime that does not say when it begins leaves the request counted as waiting.
    if (!request.began) statistics.Began();
    const auto counted = [](int64_t rows) { return static_cast<uint64_t>(std::max<int64_t>(rows, 0)); };
    std::vector<uint64_t> executed;
    if (request.execution.counts) executed.push_back(counted(request.execution.rows));
    for (const int64_t rows : request.execution.further_rows) executed.push_back(counted(rows));
    statistics.Succeeded(request.times, counted(request.rows), executed);
    return;
  }
  const FailureReason reason = ModelFailed(request) ? FailureReason::kBackend : ReasonOf(request.status);
  if (request.admitted) {
    statistics.Failed(reason, request.times.total, request.began);
  } else {
    statistics.Refused(reason, request.times.total);
  }
}

}  // namespace hearth::server
