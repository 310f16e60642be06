// Shadow traffic: before a new version takes the place of one, it answers copies of live requests of that one, which
// alone answers the clients. The answers are compared. What a configuration's parameters ask for:
//
//   shadow_requests     how many; 0, the default: none
//   shadow_seconds      time for them, from 0 to 3600 (30); what did not come by then is not waited for
//   shadow_tolerance    what elements of floating-point tensors may differ by (0.001; wire/tensor_difference.h)
//   shadow_differences  "refuse", the default: a request that the new version answers otherwise, or fails, fails the
//                       load; "report": the index and the log say so
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/servable.h"

namespace hearth::server {

inline constexpr uint64_t kMostShadowRequests = 1'000'000;
inline constexpr double kMostShadowSeconds = 3600;

// The parameters' names.
std::span<const char* const> ShadowParameters();

// Parameters by their names, in place of those of the configuration: what a client asks for with one load.
using ShadowOverrides = std::map<std::string, std::string>;

struct ShadowSettings {
  uint64_t requests = 0;
  double seconds = 30;
  double tolerance = 1e-3;
  bool refuses = true;
  std::chrono::milliseconds grace{10'000};  // that the last run may take when the time is over
};

// kInvalidArgument for a parameter that is no such value, and for requests to a model that has sequences.
absl::StatusOr<ShadowSettings> ShadowSettingsOf(const inference::ModelConfig& config,
                                                const ShadowOverrides& overrides = {});

// Has `version` answer live requests of `before`, which serves, and says for the index what came of it. Where answers
// differ and that is refused: kFailedPrecondition with the same. Also kCancelled. Requests of methods whose answer does
// not follow from the request alone are left out; the text says so where there are no others.
//
// Waits on the calling thread. One request is answered at a time, by operators with the fewest threads, and for as long
// as it took nothing is done then. A run that takes longer than the grace beyond the time is cut, and is not counted
// unless it is the only one. `memory_limit` bounds the arguments of one; 0: nothing does.
absl::StatusOr<std::string> CompareOnLiveRequests(const Servable& before, const Servable& version,
                                                  const ShadowSettings& settings, int64_t memory_limit,
                                                  std::stop_token stop);

}  // namespace hearth::server
