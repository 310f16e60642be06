// Between a parsed request and the runtime: admits or refuses it, hands it over with its deadline, and knows how many
// are under way. Each request is one call of the model, or has a part in one where the model's configuration has calls
// batched (batcher.h). So many runs are under way at once as there are slots; where a call finds none free, it waits in
// its model's queue, and models that wait share the slots fairly (fair_shares.h).
//
// A request to an ensemble takes no slot: its steps' calls come through here, too, and take theirs.
//
// Where a model's answers are cached (response_cache.h), a request whose answer is there is answered at once.
//
// A request is refused with kResourceExhausted at once when as many of its model's requests as the bound allows wait
// for a thread already, or as many as the server's bound are under way in all, or it would wait for too long, and is
// told when to come again (retry_advice.h) if that is known; with kUnavailable when the server is draining; with
// kDeadlineExceeded when its deadline has passed.
//
// A small request of a model whose last runs were nearly all very short (trust.h) is run on the calling thread, if the
// runtime knows that it cannot take long for reasons of its own (no loops): handing it to another thread and back would
// cost more than the run itself, and the other threads may be busy for long. It needs no slot. Where that thread has no
// like, the answers must have been quick, too. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "server/repository/servable.h"
#include "server/scheduling/alarm_clock.h"
#include "server/scheduling/batcher.h"
#include "server/scheduling/dispatched_call.h"
#include "server/scheduling/fair_shares.h"
#include "server/scheduling/response_cache.h"

namespace hearth::server {

struct DispatcherOptions {
  // Requests of one model that may wait for a thread. A model's own max_queue_size, where its configuration has one, is
  // used instead.
  int64_t max_pending_per_model = 1024;
  // Requests of all models that may wait or run.
  int64_t max_in_flight = 8192;
  // Works of Post that take long and are done at a time.
  int64_t max_long_works = 1;
  // Runs of all models under way at once.
  int64_t max_runs = 1024;
  // Of one model whose requests are batched.
  int64_t max_batches = 1;
  // Batches are padded to powers of two where a model's configuration does not say.
  bool pads_batches = false;
  // A model's requests may wait for so long, if its configuration does not say; 0: for any time (queue_control.h).
  std::chrono::milliseconds longest_wait{0};
  // For answers of models whose configuration has them cached; 0: none are.
  size_t cache_bytes = 0;
};

// Of work for a request: whether it takes longer than handing it to another thread and back.
enum class WorkLength : uint8_t { kShort, kLong };

class Dispatcher : private BatcherHost {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `post` runs work on another thread.
  Dispatcher(DispatcherOptions options, std::function<void(std::function<void()>)> post)
      : options_(options), post_(std::move(post)), shares_(options.max_runs), cache_(options.cache_bytes) {}
  ~Dispatcher() override = default;

  // Has `work`, which must not throw, done elsewhere for a request that is not yet dispatched. It counts as under way
  // meanwhile. Refuses as Dispatch does, but for the bound on a model's requests. Of what takes long only so much is
  // done at a time, first come first served: messages that take long to read leave threads to the other requests.
  absl::Status Post(WorkLength length, std::function<void()> work);

  // An error means that the call was refused, `callback` will not be called and nothing was counted. Otherwise
  // `callback` is called once, perhaps before this returns, and `servable` is held until then; the caller reports the
  // end to the model's statistics.
  absl::StatusOr<std::shared_ptr<CallHandle>> Dispatch(ServablePtr servable, DispatchedCall call,
                                                       DispatchCallback callback);

  // From now on everything is refused.
  void StopAccepting();
  bool accepting() const;
  int64_t in_flight() const;
  // Whether nothing was under way at some moment before `deadline`.
  bool WaitUntilIdle(TimePoint deadline);

 private:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  void RunElsewhere(std::function<void()> work) override { post_(std::move(work)); }
  void CallAt(TimePoint time, std::function<void()> alarm) override { alarms_.CallAt(time, std::move(alarm)); }
  std::shared_ptr<CallHandle> RunCall(ServablePtr servable, DispatchedCall call, DispatchCallback callback) override {
    return RunCallIn(std::nullopt, std::move(servable), std::move(call), std::move(callback));
  }
  void CallsBegan(int64_t count) override;
  void CallEnded() override { Ended(std::nullopt); }
  void WorkBegan() override;
  void WorkEnded() override;
  std::optional<RunSlot> TakeSlot(ModelShare& share, const std::shared_ptr<SlotWaiter>& waiter) override;
  void FreeSlot(const RunSlot& slot) override;
  int64_t most_batches() const override { return options_.max_batches; }
  int64_t most_runs() const override { return options_.max_runs; }
  bool pads_batches() const override { return options_.pads_batches; }
  std::chrono::milliseconds longest_wait() const override { return options_.longest_wait; }

  // As RunCallIn, of an ensemble.
  std::shared_ptr<CallHandle> RunEnsembleIn(const std::optional<RunSlot>& slot, ServablePtr servable,
                                            DispatchedCall call, DispatchCallback callback);
  // Frees the slot, if there is one, when it has ended.
  std::shared_ptr<CallHandle> RunCallIn(std::optional<RunSlot> slot, ServablePtr servable, DispatchedCall call,
                                        DispatchCallback callback);
  // What there is of a version here, until it goes.
  struct Version {
    std::shared_ptr<Batcher> batcher;
    std::optional<uint64_t> cache_load;  // its number in the cache, if its answers are cached
  };
  const Version& VersionOf(const Servable& servable);
  std::shared_ptr<Version> MakeVersion(const Servable& servable);
  // As Dispatch, of a call whose answer is not in the cache.
  absl::StatusOr<std::shared_ptr<CallHandle>> Run(Batcher& batcher, ServablePtr servable, DispatchedCall call,
                                                  DispatchCallback callback);
  absl::Status AnswerFromCache(const Servable& servable, c10::IValue answer, bool of_admitted_request,
                               DispatchCallback callback);
  absl::Status CheckRoom() const;
  // Counts the request, or says why there is no room for it.
  absl::Status Admit(const Servable& servable, bool of_admitted_request);
  void HandOver(WorkLength length, std::function<void()> work);
  void LongEnded();
  void Ended(const std::optional<RunSlot>& slot);
  // Gives free slots to those who wait for them.
  void GiveSlots();

  const DispatcherOptions options_;
  const std::function<void(std::function<void()>)> post_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool accepting_ = true;
  int64_t in_flight_ = 0;
  FairShares shares_;
  uint64_t cached_loads_ = 0;
  int64_t works_ = 0;       // of Batchers
  int64_t long_works_ = 0;  // that are being done
  std::deque<std::function<void()>> waiting_long_works_;
  ResponseCache cache_;
  AlarmClock alarms_;  // ends first: what it calls uses the rest
};

}  // namespace hearth::server
