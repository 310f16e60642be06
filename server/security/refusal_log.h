// Says in the log what was refused, one line a second at most: who is refused chooses how often.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace hearth::server {

// Thread-safe.
class RefusalLog {
 public:
  // `what` may come from outside; `peer` may be empty.
  void Write(std::string_view what, std::string_view peer, std::string_view why);

  // Lines that were written, and refusals that had none.
  int64_t written() const;
  int64_t left_out() const;

 private:
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  int64_t written_ = 0;
  int64_t left_out_ = 0;
  int64_t unsaid_ = 0;  // since the last line
};

}  // namespace hearth::server
