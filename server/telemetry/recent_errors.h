// The errors that requests ended with last, for who looks at the server: a bounded number, each with a bounded text.
// Those of models and those of requests that were refused are kept apart, so that clients which send nonsense do not
// push out a model's traceback. An error with the text of one that is there counts with it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hearth::server {

struct RecentError {
  std::chrono::system_clock::time_point time;  // of the last one
  std::string model;
  std::string version;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  uint64_t count = 1;
};

class RecentErrors {
 public:
  static constexpr size_t kMost = 32;  // of each kind
  static constexpr size_t kMostMessageBytes = 16 << 10;
  static constexpr size_t kMostNameBytes = 256;

  enum class Kind : uint8_t { kModel, kRefused };

  void Add(Kind kind, std::string_view model, std::string_view version, const absl::Status& status);
  // The latest first.
  std::vector<RecentError> List(Kind kind) const;

 private:
  mutable std::mutex mutex_;
  std::deque<RecentError> errors_[2];  // the latest first
};

}  // namespace hearth::server
