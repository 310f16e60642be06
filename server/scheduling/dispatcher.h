// Between a parsed request and the runtime: admits or refuses it, hands it over with its deadline, and knows how many
// are under way. Each request is one call of the model.
//
// A request is refused with kResourceExhausted at once when as many of its model's requests as the bound allows wait
// for a thread already, or as many as the server's bound are under way in all; with kUnavailable when the server is
// draining; with kDeadlineExceeded when its deadline has passed.
//
// A small request of a model whose last runs were nearly all very short (trust.h) is run on the calling thread, if the
// runtime knows that it cannot take long for reasons of its own (no loops): handing it to another thread and back would
// cost more than the run itself, and the other threads may be busy for long. Where that thread has no like, the answers
// must have been quick, too. Thread-safe.
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

namespace hearth::server {

struct DispatcherOptions {
  // Requests of one model that may wait for a thread. A model's own max_queue_size, where its configuration has one, is
  // used instead.
  int64_t max_pending_per_model = 1024;
  // Requests of all models that may wait or run.
  int64_t max_in_flight = 8192;
  // Works of Post that take long and are done at a time.
  int64_t max_long_works = 1;
};

// Of work for a request: whether it takes longer than handing it to another thread and back.
enum class WorkLength : uint8_t { kShort, kLong };

// What the thread that dispatches a call does else.
enum class CallerThread : uint8_t {
  kOneOfMany,  // others like it go on meanwhile
  kOnlyOne,    // others wait for it
};

struct DispatchedCall {
  std::string method = "forward";
  Arguments args;
  KeywordArguments kwargs;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  size_t bytes = 0;  // of the request
  CallerThread caller = CallerThread::kOneOfMany;
  bool answer_stays_on_device = false;  // see CallOptions
  // See CallOptions::memory.
  std::shared_ptr<MemoryAccount> memory;
  // Called when a thread takes the call up; see CallOptions::on_start.
  std::function<void()> on_start;
};

class Dispatcher {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `post` runs work on another thread.
  Dispatcher(DispatcherOptions options, std::function<void(std::function<void()>)> post)
      : options_(options), post_(std::move(post)) {}

  // Has `work`, which must not throw, done elsewhere for a request that is not yet dispatched. It counts as under way
  // meanwhile. Refuses as Dispatch does, but for the bound on a model's requests. Of what takes long only so much is
  // done at a time, first come first served: messages that take long to read leave threads to the other requests.
  absl::Status Post(WorkLength length, std::function<void()> work);

  // An error means that the call was refused, `callback` will not be called and nothing was counted. Otherwise
  // `callback` is called once, perhaps before this returns, and `servable` is held until then; the caller reports the
  // end to the model's statistics.
  absl::StatusOr<std::shared_ptr<CallHandle>> Dispatch(ServablePtr servable, DispatchedCall call, Callback callback);

  // From now on everything is refused.
  void StopAccepting();
  bool accepting() const;
  int64_t in_flight() const;
  // Whether nothing was under way at some moment before `deadline`.
  bool WaitUntilIdle(TimePoint deadline);

 private:
  absl::Status CheckRoom() const;
  void HandOver(WorkLength length, std::function<void()> work);
  void LongEnded();
  void Ended();

  const DispatcherOptions options_;
  const std::function<void(std::function<void()>)> post_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool accepting_ = true;
  int64_t in_flight_ = 0;
  int64_t long_works_ = 0;  // that are being done
  std::deque<std::function<void()>> waiting_long_works_;
};

}  // namespace hearth::server
