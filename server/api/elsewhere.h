// Work of a method that is too long for the thread that brought its call.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "server/api/guarded.h"
#include "server/scheduling/dispatcher.h"

namespace hearth::server {

// Has `work`, which returns a status and may throw, done on a thread of the runtime's pool, and `done` called once with
// what it returns, or at once with the reason why it is refused.
template <typename Work, typename Done>
void DoElsewhere(Dispatcher& dispatcher, Work work, Done done) {
  absl::Status posted = dispatcher.Post(WorkLength::kLong, [work = std::move(work), done] { done(Guarded(work)); });
  if (!posted.ok()) done(std::move(posted));
}

}  // namespace hearth::server
