// Copies of a version's live calls, with their answers, for whoever has another version answer the same and compares
// (shadow_traffic.h). While nobody wants any, a request looks at one flag. While somebody does, a few requests at a
// time leave a copy, as many as there are places; no request waits. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "jit/runtime.h"

namespace hearth::server {

struct BoundArguments;
struct Servable;

// What is between two answers to one call.
struct AnswerDifference {
  std::string text;    // where it is beyond what is tolerated; empty: nowhere
  double largest = 0;  // of the elements of tensors (wire/tensor_difference.h)
};

// One call that has been answered. Immutable.
class LiveCall {
 public:
  virtual ~LiveCall() = default;
  // "forward"
  virtual const std::string& method() const = 0;
  // The arguments of the same call to another version, with memory of their own. An error where they do not fit it.
  virtual absl::StatusOr<BoundArguments> Bind(const Servable& version) const = 0;
  // Compares that version's result with the answer that the client got.
  virtual absl::StatusOr<AnswerDifference> Compare(c10::IValue result, const Servable& version,
                                                   double tolerance) const = 0;
};

class LiveCalls {
 public:
  using Clock = std::chrono::steady_clock;

  // Calls that are under way and have been copied, or wait to be taken.
  static constexpr int kPlaces = 4;
  // Of one call's inputs and answer; larger ones are left alone.
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // Given back when it goes.
  using Place = std::shared_ptr<const void>;

  // For a request: null where no copy is wanted, or all places are taken.
  Place TakePlace() {
    if (!wanted_.load(std::memory_order_relaxed)) return nullptr;
    return TakeOne();
  }
  // The call has been answered.
  void Leave(Place place, std::unique_ptr<const LiveCall> call);

  // For who compares, one at a time: from now on calls are copied; until End.
  void Begin();
  // The next one; null when it is time, or stopped.
  std::unique_ptr<const LiveCall> Next(Clock::time_point deadline, std::stop_token stop);
  void End();

 private:
  struct Left {
    Place place;
    std::unique_ptr<const LiveCall> call;
  };

  Place TakeOne();

  std::atomic<bool> wanted_{false};
  const std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Left> left_;
};

}  // namespace hearth::server
