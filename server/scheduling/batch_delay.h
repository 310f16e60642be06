// How long a batch that is not full waits for further calls while a run is free.
//
// Who is expected. Clients that ask again when they have their answer are as many as calls were in the model at once,
// in its queue or in a run. When a wait ends by its time, those that are there then are all. Nobody is waited for where
// as many are there: a lone client never waits.
//
// For how long. Where the configuration has a delay, from the first call's arrival, and before a wait has ended by it,
// for whoever may come. Where it has none, for as long as a wait is worth it. A run takes a fixed time and some for
// each row, which the line through the last runs tells (least squares). Where n calls wait for k others, n lose the
// wait, and k gain the fixed time of a run of their own less the wait; that is even at k / (n + k) of the fixed time,
// from when the calls could have been run. Where runs are short, handing them to another thread is most of it, and
// nobody is waited for. Nobody is waited for who is usually later than that. How soon a call follows
// an answer is told as TCP tells round trips (Jacobson, "Congestion avoidance and control", SIGCOMM 1988): the mean,
// and who is later by four mean deviations comes no more.
//
// Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hearth::server {

class BatchDelay {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // `configured` is the longest wait; 0: none; nothing: what it is worth.
  explicit BatchDelay(std::optional<Duration> configured) : configured_(configured) {}

  void Came(int64_t calls, TimePoint now);
  // Answered, or gone without an answer.
  void Left(int64_t calls, TimePoint now);
  void Ran(int64_t rows, Duration time);
  // The wait for others has ended, and they have not come.
  void WaitEnded();

  // Until when so many calls wait for others of which the first came at `oldest`, where a run is free since `run_free`.
  // A time that has passed: they are run now.
  TimePoint WaitEnd(int64_t calls, TimePoint oldest, TimePoint run_free) const;

 private:
  struct Run {
    double rows;
    double seconds;
  };

  const std::optional<Duration> configured_;
  int64_t present_ = 0;
  int64_t expected_ = 0;         // that are present at once
  bool knows_all_ = false;       // a wait ended with as many as are expected
  std::vector<TimePoint> left_;  // when calls left that no other has followed; the latest is last
  TimePoint last_left_;
  bool knows_return_ = false;
  double return_mean_ = 0;  // seconds from an answer to the next call
  double return_deviation_ = 0;
  std::array<Run, 64> runs_{};
  size_t ran_ = 0;
  double fixed_ = 0;  // seconds of a run, whatever its rows
};

}  // namespace hearth::server
