// The sequences of requests that are under way: which version of its model each began with, in what order its requests
// come, and the tensors that are kept from one to the next.
//
// A sequence begins with a request that says so, and ends with one that says so, when it had no request for as long as
// its model's configuration allows, or with the server. Its requests run one at a time, in the order in which they
// joined; those that wait do so without a thread. It holds its version until it ends, so that a swap of the model's
// versions does not change it. Other sequences go on side by side. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/support/memory_account.h"
#include "server/repository/servable.h"
#include "server/scheduling/alarm_clock.h"
#include "server/scheduling/alarm_times.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Of one model, at one time.
inline constexpr size_t kMostSequences = 4096;
// Requests of one sequence that wait.
inline constexpr size_t kMostWaitingInSequence = 256;
// Those of all sequences of one model.
inline constexpr size_t kMostWaitingInSequences = 4096;
// Bytes of a sequence's name.
inline constexpr size_t kLongestSequenceName = 128;

// What a request says of its sequence.
struct SequenceRequest {
  std::string name;     // empty: it is of none
  uint64_t number = 0;  // the name as a number; 0 where it is a text
  bool is_text = false;
  bool starts = false;
  bool ends = false;

  bool is_set() const { return !name.empty(); }
};

class Sequences {
 public:
  using Clock = std::chrono::steady_clock;

  class Sequence;
  // A request's place in its sequence, until Leave.
  struct Place {
    std::shared_ptr<Sequence> sequence;
    uint64_t number = 0;
    bool ends = false;
  };

  Sequences() = default;

  // Where a request of `servable`'s model, which asked for `version` (as it said it), has its place: in the sequence
  // that is under way, or in one that begins. kInvalidArgument for one that never began, or has ended;
  // kResourceExhausted for one sequence or request too many.
  absl::StatusOr<Place> Join(const ServablePtr& servable, const std::string& version, const SequenceRequest& request,
                             std::chrono::microseconds longest_idle);
  // The version that the sequence began with.
  static const ServablePtr& servable(const Place& place);
  // Calls `go` when it is the place's turn, perhaps before this returns. Never for a place that was left.
  void Await(const Place& place, std::function<void()> go);
  bool HasTurn(const Place& place) const;
  // Whether a request before it ended the sequence. For who has its turn.
  bool HasEnded(const Place& place) const;

  // The tensors that were kept; empty before the first were. For who has its turn.
  std::vector<WireTensor> States(const Place& place) const;
  // Keeps them in place of those before. They count for an account of the model's: throws MemoryLimitError, and keeps
  // those before, where there is no room.
  void Keep(const Place& place, std::vector<WireTensor> states);
  // The request has ended, whatever became of it: the next one's turn, or the sequence's end.
  void Leave(const Place& place);

  size_t size() const;

 private:
  // Model, version as requests say it, name.
  using Key = std::tuple<std::string, std::string, std::string>;

  // Under the lock.
  void Forget(const std::shared_ptr<Sequence>& sequence);
  // From now on it has no request, if it is still under way.
  void BeginIdle(const std::shared_ptr<Sequence>& sequence);
  void EndIdle(Sequence& sequence);
  // For the first of the idle ones to end.
  void SetAlarm();

  void OnAlarm(Clock::time_point time);

  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Sequence>> sequences_;
  std::map<std::string, size_t> of_model_;
  std::map<std::string, size_t> waiting_of_model_;
  std::multimap<Clock::time_point, std::shared_ptr<Sequence>> idle_;  // by when they end
  AlarmTimes alarm_times_;
  AlarmClock alarms_;  // last: what it calls uses the rest
};

}  // namespace hearth::server
