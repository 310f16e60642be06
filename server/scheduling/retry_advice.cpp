#include "server/scheduling/retry_advice.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "proto/rpc/status.pb.h"

namespace hearth::server {

using google::protobuf::util::TimeUtil;
using std::chrono::milliseconds;

absl::Status WithRetryAfter(absl::Status status, std::chrono::nanoseconds delay) {
  const milliseconds rounded = std::chrono::ceil<milliseconds>(delay);
  google::rpc::RetryInfo info;
  *info.mutable_retry_delay() =
      TimeUtil::MillisecondsToDuration(std::clamp(rounded, milliseconds(1), milliseconds(60'000)).count());
  status.SetPayload(kRetryInfoType, absl::Cord(info.SerializeAsString()));
  return status;
}

std::optional<milliseconds> RetryAfterOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryInfoType);
  if (!payload) return std::nullopt;
  google::rpc::RetryInfo info;
  if (!info.ParseFromString(std::string(*payload))) return std::nullopt;
  return milliseconds(TimeUtil::DurationToMilliseconds(info.retry_delay()));
}

}  // namespace hearth::server
