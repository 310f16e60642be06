#include "server/telemetry/recent_errors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// The first bytes, and how many are left out.
std::string Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return absl::StrCat(std::string(text.substr(0, most)), "... (", text.size() - most, " more bytes)");
}

}  // namespace

void RecentErrors::Add(Kind kind, std::string_view model, std::string_view version, const absl::Status& status) {
  RecentError error{.time = std::chrono::system_clock::now(),
                    .model = Cut(model, kMostNameBytes),
                    .version = Cut(version, kMostNameBytes),
                    .code = status.code(),
                    .message = Cut({status.message().data(), status.message().size()}, kMostMessageBytes)};
  std::lock_guard lock(mutex_);
  std::deque<RecentError>& errors = errors_[static_cast<size_t>(kind)];
  const auto same = std::ranges::find_if(errors, [&](const RecentError& known) {
    return known.code == error.code && known.model == error.model && known.version == error.version &&
           known.message == error.message;
  });
  if (same != errors.end()) {
    error.count += same->count;
    errors.erase(same);
  }
  errors.push_front(std::move(error));
  if (errors.size() > kMost) errors.pop_back();
}

std::vector<RecentError> RecentErrors::List(Kind kind) const {
  std::lock_guard lock(mutex_);
  const std::deque<RecentError>& errors = errors_[static_cast<size_t>(kind)];
  return {errors.begin(), errors.end()};
}

}  // namespace hearth::server
