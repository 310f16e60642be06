#include "server/security/refusal_log.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/text.h"

namespace hearth::server {
namespace {

constexpr std::chrono::seconds kBetweenLines{1};
constexpr size_t kMostText = 256;

}  // namespace

void RefusalLog::Write(std::string_view what, std::string_view peer, std::string_view why) {
  static spdlog::logger& log = LoggerOf("security");
  int64_t unsaid = 0;
  {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      ++left_out_;
      ++unsaid_;
      return;
    }
    next_ = now + kBetweenLines;
    ++written_;
    unsaid = std::exchange(unsaid_, 0);
  }
  log.warn("refused {}{}: {}{}", ForLog(what, kMostText), peer.empty() ? "" : absl::StrCat(" from ", std::string(peer)),
           why, unsaid == 0 ? "" : absl::StrCat(" (and ", unsaid, " others since the last such line)"));
}

int64_t RefusalLog::written() const {
  std::lock_guard lock(mutex_);
  return written_;
}

int64_t RefusalLog::left_out() const {
  std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace hearth::server
