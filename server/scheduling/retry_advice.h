// When a request that was refused for want of room may come again: google.rpc.RetryInfo as a payload of the status.
// Protocols say it in their own way.
#pragma once

#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace hearth::server {

// The payload's type.
inline constexpr const char* kRetryInfoType = "type.googleapis.com/google.rpc.RetryInfo";

// A millisecond at least, a minute at most.
absl::Status WithRetryAfter(absl::Status status, std::chrono::nanoseconds delay);

// Nothing where the status does not say.
std::optional<std::chrono::milliseconds> RetryAfterOf(const absl::Status& status);

}  // namespace hearth::server
