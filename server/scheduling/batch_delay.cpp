#include "server/scheduling/batch_delay.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace hearth::server {
namespace {

// TCP's: what the latest counts for in the mean and in the deviation, and how many deviations are waited for.
constexpr double kOfMean = 1.0 / 8;
constexpr double kOfDeviation = 1.0 / 4;
constexpr double kDeviations = 4;
// A call that follows its answer later than after so many fixed times is late in any case.
constexpr double kLatest = 2;
// Seconds of a run's fixed time below which nobody is waited for: the wait ends on another thread, which costs as much.
constexpr double kLeastFixed = 1e-3;

double Seconds(BatchDelay::Duration time) { return std::chrono::duration<double>(time).count(); }

BatchDelay::Duration TimeOf(double seconds) {
  return std::chrono::duration_cast<BatchDelay::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void BatchDelay::Came(int64_t calls, TimePoint now) {
  present_ += calls;
  if (present_ > expected_) {
    expected_ = present_;
    knows_all_ = false;
  }
  for (; calls > 0 && !left_.empty(); --calls) {
    const double time = std::min(Seconds(now - left_.back()), kLatest * fixed_);
    left_.pop_back();
    if (!knows_return_) {
      return_mean_ = time;
      return_deviation_ = time / 2;
    } else {
      return_deviation_ += kOfDeviation * (std::abs(time - return_mean_) - return_deviation_);
      return_mean_ += kOfMean * (time - return_mean_);
    }
    knows_return_ = true;
  }
}

void BatchDelay::Left(int64_t calls, TimePoint now) {
  present_ -= calls;
  left_.insert(left_.end(), static_cast<size_t>(calls), now);
  last_left_ = now;
}

void BatchDelay::Ran(int64_t rows, Duration time) {
  runs_[ran_++ % runs_.size()] = {static_cast<double>(rows), Seconds(time)};
  const std::span<const Run> known = std::span(runs_).first(std::min(ran_, runs_.size()));
  const auto count = static_cast<double>(known.size());
  Run mean{0, 0};
  for (const Run& run : known) mean = {mean.rows + run.rows / count, mean.seconds + run.seconds / count};
  double variance = 0, covariance = 0;
  for (const Run& run : known) {
    variance += (run.rows - mean.rows) * (run.rows - mean.rows);
    covariance += (run.rows - mean.rows) * (run.seconds - mean.seconds);
  }
  // Runs of one size do not tell: a wait, for which all of their time is taken to be fixed, makes another size.
  const double of_row = variance > 0 ? std::max(covariance / variance, 0.0) : 0;
  fixed_ = std::max(mean.seconds - of_row * mean.rows, 0.0);
}

void BatchDelay::WaitEnded() {
  expected_ = present_;
  knows_all_ = true;
}

BatchDelay::TimePoint BatchDelay::WaitEnd(int64_t calls, TimePoint oldest, TimePoint run_free) const {
  const int64_t others = expected_ - present_;
  if (configured_) return others == 0 && knows_all_ ? oldest : oldest + *configured_;
  const TimePoint since = std::max(oldest, run_free);
  if (fixed_ < kLeastFixed) return since;
  const TimePoint worth = since + TimeOf(fixed_ * static_cast<double>(others) / static_cast<double>(calls + others));
  if (!knows_return_) return worth;
  if (last_left_ + TimeOf(return_mean_) > worth) return since;
  return std::min(worth, last_left_ + TimeOf(return_mean_ + kDeviations * return_deviation_));
}

}  // namespace hearth::server
