// The one place where exceptions become statuses.
#pragma once

#include <exception>

#include "absl/status/status.h"

namespace hearth {

// What the runtime's callers are told of an exception, which is not null.
absl::Status StatusOf(const std::exception_ptr& error);

}  // namespace hearth
