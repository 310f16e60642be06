// One request from message to answer, whatever its protocol: read and bound to a call, dispatched, its result encoded;
// with its times, its statistics and its line in the access log. A protocol derives from it. Unary calls and streams of
// gRPC and requests of HTTP all run as such tasks. Messages and answers are slices of memory that somebody owns:
// grpc::ByteBuffer carries them for every protocol.
//
// A message that takes little time is read where it arrives, on a thread of gRPC's or HTTP's; any other, and one that
// gRPC brought compressed, on a thread of the runtime's pool. The message, what is read from it, the call and its
// answer count for memory accounts, until the task is gone: whoever sends the answer keeps the task until it is sent.
//
// A request for a model that was unloaded as idle has it loaded again, and waits for that without a thread; its message
// is read again then. So does one of a sequence of requests that waits for those before it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "jit/support/memory_account.h"
#include "server/api/recordings.h"
#include "server/api/sequences.h"
#include "server/api/shared_memory.h"
#include "server/repository/repository.h"
#include "server/scheduling/dispatcher.h"
#include "server/telemetry/access_log.h"
#include "server/telemetry/recent_errors.h"
#include "server/telemetry/trace_context.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {

// What requests need of the server. All outlive the tasks.
struct RequestEnvironment {
  Repository& repository;
  Dispatcher& dispatcher;
  const SharedRegions& regions;
  MemoryAccount* memory = nullptr;               // of all requests; null: they have no limit
  AccessLog* access_log = nullptr;               // may be null
  size_t max_request_bytes = size_t{256} << 20;  // of a message, inflated if it came compressed
  RecentErrors* recent_errors = nullptr;         // may be null
  Tracer* tracer = nullptr;                      // null: no request is traced
  Recordings* recordings = nullptr;              // null: none is recorded
  Sequences* sequences = nullptr;                // null: models that have sequences refuse requests
};

class RequestTask : public std::enable_shared_from_this<RequestTask> {
 public:
  // Called once, on any thread, when statistics and log have been written: the request is over. If the status is OK,
  // the answer is the message to send, for the callee to swap away: a ByteBuffer cannot be moved, only copied.
  using Done = std::function<void(absl::Status status, grpc::ByteBuffer& answer)>;

  explicit RequestTask(const RequestEnvironment& environment) : environment_(environment) {}
  virtual ~RequestTask() = default;

  // May call `done` before it returns; the message must be there until then. Call once.
  void Start(const grpc::ByteBuffer& message, std::optional<std::chrono::steady_clock::time_point> deadline,
             std::string peer, Done done);

  // Whether the trace that the client says it belongs to is of use; then it is told before Start.
  bool wants_caller_trace() const { return is_logged() || environment_.tracer != nullptr; }
  void set_caller_trace(std::optional<TraceContext> trace) { caller_trace_ = std::move(trace); }

  // Asks the run to stop. Does nothing to a task that has ended or, apart from keeping it from running, not begun.
  // Thread-safe.
  void Cancel();

  // Whether the log wants to know the peer.
  bool is_logged() const { return environment_.access_log != nullptr; }
  // The client's name for the request, once Start has read it.
  const std::string& id() const { return record_.id; }

 protected:
  // Whether to read the message takes little time: no more than to hand it to another thread and back.
  virtual bool IsShort(const grpc::ByteBuffer& message) const = 0;
  // Whether the thread that calls Start reads a message that is short, and perhaps runs what it asks for.
  virtual bool ReadsHere(const grpc::ByteBuffer& /*message*/) const { return true; }
  // What that thread is.
  virtual CallerThread caller() const { return CallerThread::kOneOfMany; }
  // Reads the message: says what it is about with Identify, and gives the call that it asks for. May throw, as Encode.
  virtual absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer& message) = 0;
  // What traces call it: "inference.GRPCInferenceService/ModelInfer". Lives as long as the process.
  virtual const char* operation() const = 0;
  // Writes the answer to a call that went well. Its time counts as output time.
  virtual absl::Status Encode(c10::IValue result, grpc::ByteBuffer& answer) = 0;
  // What the call leaves behind; once it is certain that nothing else of the request fails. May throw, as Encode.
  virtual absl::Status Commit() { return absl::OkStatus(); }

  // Notes for the log what the request is about, and finds the model's version; kNotFound and so on if it is not there.
  // From here on the thread counts for the request's memory account.
  absl::Status Identify(const std::string& model, const std::string& version, const std::string& id);
  // The version that Identify found, or another one in its place.
  const ServablePtr& servable_ptr() const { return servable_; }
  void ServeWith(const ServablePtr& servable);
  // As the request said it; once Identify was called.
  const std::string& requested_version() const { return requested_version_; }

  // What Prepare returns for a request that is to wait for its turn: what TurnAwaiter gives is then called with a `go`,
  // and Prepare again after `go` was.
  static absl::Status NotItsTurn();
  // Refers to nothing of the task's: Cancel may end it before and while this is called. Then `go` need not be.
  virtual std::function<void(std::function<void()> go)> TurnAwaiter() const { return nullptr; }
  // Called once when the request has ended, whatever became of it, before anybody hears of that.
  virtual void OnEnd() {}

  // For protocols that know the model before they have read the request's id.
  void set_id(const std::string& id) { record_.id = id; }

  // The request ends with kDeadlineExceeded when so much time has passed since it arrived, if its deadline is not
  // before that. For Prepare.
  void LimitTime(std::chrono::microseconds time);

  const RequestEnvironment& environment() const { return environment_; }
  // Once Identify has found it.
  const Servable& servable() const { return *servable_; }
  const std::string& version() const { return record_.version; }
  // Its place in a recording of its model; null: nobody records it. Known once Identify has found the version.
  RecordedCall* recorded() const { return recorded_.get(); }
  // As the client named it; known where the request is recorded.
  const std::string& asked_version() const { return asked_version_; }

 private:
  using Clock = std::chrono::steady_clock;

  // What Start began: the message is read and its call dispatched.
  void Run(CallerThread caller);
  // Has the model that Identify looked for loaded again, and then goes on.
  void AwaitModel();
  // Waits for its turn, and then goes on.
  void WaitForTurn();
  // Whether it waits from now on, for what is told to who cancels it; false where it was cancelled, and has ended.
  bool BeginWaiting(std::string what);
  // It was cancelled before that was done.
  void EndWaiting();
  void GoOn(absl::Status loaded, Clock::duration after, WorkLength length);
  // If it came compressed.
  absl::Status InflateMessage();
  absl::StatusOr<DispatchedCall> PrepareCall();
  // Why the request need not be gone on with: it was cancelled, or its deadline has passed `when`. Else OK.
  absl::Status CheckWanted(const char* when);
  void OnResult(absl::StatusOr<c10::IValue> result);
  void Finish(absl::Status status, grpc::ByteBuffer& answer);
  void Report(const absl::Status& status, Clock::time_point now);
  void EndTrace(const absl::Status& status, bool began);

  const RequestEnvironment& environment_;
  const grpc::ByteBuffer* message_ = nullptr;
  grpc::ByteBuffer inflated_;  // of a message that came compressed
  std::optional<Clock::time_point> deadline_;
  Done done_;
  ServablePtr servable_;
  std::optional<MemoryAccount> message_memory_;   // of the message
  std::shared_ptr<MemoryAccount> memory_;         // of all else, once the model is known; may be null
  std::optional<MemoryAccount::Scope> counting_;  // while the message is read
  AccessRecord record_;
  std::string requested_version_;
  std::unique_ptr<RecordedCall> recorded_;
  std::string asked_version_;
  std::optional<TraceContext> caller_trace_;
  std::optional<TraceContext> trace_;  // that is recorded
  int64_t rows_ = 1;                   // batch elements
  Execution execution_;
  bool admitted_ = false;
  bool run_was_late_ = false;  // and not only the answer
  int loads_awaited_ = 0;
  Clock::duration await_time_{0};  // of these loads
  Clock::time_point arrived_, handed_over_, finished_;
  std::atomic<Clock::rep> began_{0};  // since the clock's epoch; 0: not yet

  std::mutex mutex_;
  bool cancelled_ = false;
  bool waiting_ = false;  // for a load or a turn
  std::string waits_;     // "while ..."
  bool ended_ = false;
  std::shared_ptr<CallHandle> handle_;
};

}  // namespace hearth::server
