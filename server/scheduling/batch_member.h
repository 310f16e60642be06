// A call in a Batcher (batcher.h), and a batch of such calls. Both are the Batcher's, which changes them under its
// lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "jit/runtime.h"
#include "server/repository/servable.h"
#include "server/scheduling/batch_values.h"
#include "server/scheduling/dispatched_call.h"
#include "server/scheduling/fair_shares.h"

namespace hearth::server {

struct Batch;

struct BatchMember {
  using TimePoint = std::chrono::steady_clock::time_point;
  // Level, delayed, number: the order in which members are run.
  using Place = std::tuple<int64_t, bool, uint64_t>;
  enum class State : uint8_t { kWaiting, kInBatch, kAlone, kAnswered };

  ServablePtr servable;
  DispatchedCall call;
  DispatchCallback callback;
  BatchKey key;  // without rows: in no batch
  int64_t level = 1;
  bool delayed = false;
  uint64_t number = 0;
  TimePoint arrived;
  std::optional<TimePoint> timeout;     // of waiting, by the level's policy
  TimePoint latest = TimePoint::max();  // that the queue's bound lets it wait until

  State state = State::kWaiting;
  std::shared_ptr<Batch> batch;
  std::shared_ptr<CallHandle> run;  // of the member alone
  bool cancelled = false;

  Place place() const { return {level, delayed, number}; }
  bool is_open() const { return state == State::kInBatch; }
  // When something is to be done about it while it waits.
  TimePoint alarm() const {
    return std::min({latest, timeout.value_or(TimePoint::max()), call.deadline.value_or(TimePoint::max())});
  }
};
using BatchMemberPtr = std::shared_ptr<BatchMember>;

struct Batch {
  RunSlot slot;
  std::vector<BatchMemberPtr> members;
  size_t open = 0;                  // members that wait for the run of all
  int64_t padding = 0;              // rows of that run that are nobody's
  std::vector<int64_t> lengths;     // of that run's tensors that are padded
  std::shared_ptr<CallHandle> run;  // of all
  unsigned tier = 0;                // that the run began in
  // Where the run is profiled:
  std::shared_ptr<CallReport> report;
  BatchMember::TimePoint began;

  // Of its members; 0 for a call that is in no batch.
  int64_t rows() const {
    int64_t rows = 0;
    for (const BatchMemberPtr& member : members) rows += member->key.rows;
    return rows;
  }
};
using BatchPtr = std::shared_ptr<Batch>;

}  // namespace hearth::server
