// The queue of one version of a model: calls wait here for a run, and where the model's configuration says so
// (repository/queue_settings.h) those that fit each other are run together, as one batch.
//
// Order. Calls of a lower level come first; within a level those that came first, and behind them those whose timeout
// passed and that the level's policy delays. So many runs are under way at once as the settings say, else the host, and
// each has one of the slots that all models share (fair_shares.h). A call that finds nobody waiting, and a run and a
// slot free, is run at once, on its caller's thread and as it is, unless it is to wait for others.
//
// Batches. Calls fit each other if their keys are equal (batch_values.h). Where a run and a slot are free, the first
// call in the order is taken with the next ones that fit it, up to as many rows as a batch may have. That is a batch at
// once if it has as many, or a preferred number of rows, or if it waits for no others (batch_delay.h); else the next
// call that does not fit is looked at in the same way. Where the order of requests is kept, nothing overtakes the
// first, and a run is free when its answers are on their way; else as soon as it has ended.
//
// Padding. A batch, be it of one call, that has not the rows of one of its settings' allowed sizes gets as many rows
// more as the next of them needs, which are thrown away: on a device where plans for known sizes are much faster, few
// sizes are worth more than few rows. Settings that do not say allow the powers of two, if the host pads, else any.
//
// Lengths. Where the settings say which dimensions are padded, calls whose tensors differ in those fit each other, too
// (repository/batch_padding.h), as long as not too much of the batch is padding. Their tensors are filled up to the
// longest of them, and what the answer has of that is cut off again.
//
// Large calls. One with more rows than a batch may have is run by itself, or as parts of so many rows, if the settings
// say so (split_call.h). The parts are let in together, as one call is, and run as other calls are.
//
// Runs of batches. On a thread that models run on; the arguments are copied together there, and the answer's tensors
// are taken apart as views. The views share the answer's memory, which is freed when the last of its requests has made
// of them what it sends. A batch has a memory account of its own, with the limit of as many requests. Where its run
// fails, takes longer than a run may, or its answer has not the batch's rows, its calls are run one by one, and each
// gets what its own run gives. After kMostWrongAnswers wrong answers the version's calls are not batched any more.
//
// Overload. A call that would wait for longer than it may (queue_control.h), or until its deadline, is refused at once
// and told when to come again. One that waited for as long as it may is refused then, and one whose deadline comes
// before a run could end is not run.
//
// Calls end early: by their deadline or when they are cancelled, waiting or in a run that then goes on for the others
// and is cancelled with the last of them; by their level's timeout while they wait. A call holds its version, so a
// batch is of one version, and ends with it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "server/repository/servable.h"
#include "server/scheduling/alarm_times.h"
#include "server/scheduling/batch_delay.h"
#include "server/scheduling/batch_member.h"
#include "server/scheduling/dispatched_call.h"
#include "server/scheduling/fair_shares.h"
#include "server/scheduling/queue_control.h"
#include "server/scheduling/waiting_calls.h"

namespace hearth::server {

// What a Batcher needs around it; outlives every call. Thread-safe.
class BatcherHost {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~BatcherHost() = default;
  virtual TimePoint now() const = 0;
  // Has `work` done on a thread that models run on.
  virtual void RunElsewhere(std::function<void()> work) = 0;
  virtual void CallAt(TimePoint time, std::function<void()> alarm) = 0;
  // Runs a call by itself, and counts it as ended after its callback.
  virtual std::shared_ptr<CallHandle> RunCall(ServablePtr servable, DispatchedCall call, DispatchCallback callback) = 0;
  // So many further calls are under way, which are parts of one.
  virtual void CallsBegan(int64_t count) = 0;
  // The end of a call that RunCall did not run.
  virtual void CallEnded() = 0;
  // Around what a Batcher has begun for several calls, and which may outlast them.
  virtual void WorkBegan() = 0;
  virtual void WorkEnded() = 0;
  // A slot for a run of the model. Where none is free, or others wait for one: nothing, and `waiter`, unless it is
  // null, is given one when its turn has come.
  virtual std::optional<RunSlot> TakeSlot(ModelShare& share, const std::shared_ptr<SlotWaiter>& waiter) = 0;
  virtual void FreeSlot(const RunSlot& slot) = 0;
  // How many runs a model may have under way at once whose configuration does not say: of one whose calls are batched,
  // and of any other.
  virtual int64_t most_batches() const = 0;
  virtual int64_t most_runs() const = 0;
  virtual bool pads_batches() const = 0;
  // How long calls may wait of a model whose configuration does not say; 0: for any time.
  virtual std::chrono::milliseconds longest_wait() const = 0;
};

class Batcher : public SlotWaiter, public std::enable_shared_from_this<Batcher> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr int kMostWrongAnswers = 3;

  // The settings are a Servable's, which has this. The share outlives it.
  Batcher(const QueueSettings& settings, ModelShare& share, BatcherHost& host);

  ModelShare& share() { return share_; }

  // kResourceExhausted, with retry advice, where as many calls of its level wait as may, or it would wait for too long;
  // the callback is then not called. Else it is called once, perhaps before this returns.
  absl::StatusOr<std::shared_ptr<CallHandle>> Add(const ServablePtr& servable, DispatchedCall call,
                                                  DispatchCallback callback);

  bool UseSlot(const RunSlot& slot) override;

  // `refusal`, with the time in which those that wait will have left, if that is known.
  absl::Status Advised(absl::Status refusal);

 private:
  class Handle;
  struct Departures;

  int64_t MostRuns() const;
  // Of a batch with so many rows.
  int64_t PaddingOf(int64_t rows) const;
  // Whether a call may be run together with others.
  bool MayJoin(const DispatchedCall& call) const;
  // Of a call that may, and has more rows than a batch may have.
  absl::StatusOr<std::shared_ptr<CallHandle>> AddParts(const ServablePtr& servable, DispatchedCall call,
                                                       DispatchCallback callback, int64_t rows);
  // Of one call, or of the parts of one, which have been told to the delay.
  absl::Status Enqueue(std::span<const BatchMemberPtr> members);
  BatchMemberPtr NewMember(const ServablePtr& servable, DispatchedCall call, DispatchCallback callback);

  // All of these under the lock.
  absl::Status CheckRoom(const BatchMember& member) const;
  absl::Status WithAdvice(absl::Status refusal) const;
  BatchPtr TakeReady(TimePoint now, std::optional<RunSlot> slot, Departures& departures);
  // Until when the members wait for others, a run being free.
  TimePoint WaitEndOf(const BatchDraft& draft) const;
  // Those whose deadline comes before a run could end.
  void DropLate(std::vector<BatchMemberPtr>& members, TimePoint now, Departures& departures);
  BatchPtr MakeBatch(std::vector<BatchMemberPtr> members, const RunSlot& slot);
  void SetAlarm(TimePoint time);
  void Depart(const BatchMemberPtr& member, absl::Status status, Departures& departures);
  void Expire(TimePoint now, Departures& departures);

  // The queue (batcher.cpp).
  void StartReady();
  void Answer(Departures departures);
  void OnAlarm(TimePoint time);
  void Finish(Departures departures);
  void Cancel(const BatchMemberPtr& member);

  // Runs (batch_runs.cpp).
  void RunBatch(const BatchPtr& batch);
  bool FindLengths(Batch& batch) const;
  void RunTogether(const BatchPtr& batch);
  void OnAnswer(const BatchPtr& batch, absl::StatusOr<c10::IValue> answer);
  // Whether the deadline of one that waits for the batch's run has not come.
  bool SomebodyHasTime(const BatchPtr& batch);
  void RunOneByOne(const BatchPtr& batch, BatchFailure why, const absl::Status& status);
  void RunMember(const BatchPtr& batch, size_t index);
  // So many calls, by a run of so many rows in that slot; 0 rows: it is none that others are like.
  void Answered(int64_t calls, int64_t rows, const RunSlot& slot);
  void FreeRun(const RunSlot& slot, const BatchPtr& batch);
  void End(const BatchPtr& batch);

  const QueueSettings& settings_;
  ModelShare& share_;
  BatcherHost& host_;
  const std::vector<int64_t> allowed_;  // rows of batches, ascending; empty: any
  std::mutex mutex_;
  WaitingCalls waiting_;
  std::set<BatchPtr> batches_;  // under way
  int64_t runs_ = 0;            // under way
  TimePoint run_free_;          // since when one more may be
  bool waits_for_slot_ = false;
  BatchDelay delay_;
  bool waits_for_calls_ = false;  // a batch that may be run
  QueueControl control_;
  std::chrono::nanoseconds least_run_time_{0};  // of late
  AlarmTimes alarm_times_;
  std::atomic<int> wrong_answers_{0};
};

}  // namespace hearth::server
