// One inference from message to answer: parse, find the model, bind, dispatch, flatten; with its times, its statistics
// and its line in the access log. Unary calls and streams both run their requests as such tasks.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "jit/runtime.h"
#include "server/api/response_message.h"
#include "server/api/wire_tensor.h"
#include "server/repository/repository.h"
#include "server/scheduling/dispatcher.h"
#include "server/telemetry/access_log.h"

namespace hearth::server {

// What inferences need of the server. All outlive the tasks.
struct InferEnvironment {
  const Repository& repository;
  Dispatcher& dispatcher;
  c10::Device device;
  AccessLog* access_log = nullptr;  // may be null
};

struct InferAnswer {
  absl::Status status;
  AnswerHeader header;              // also of a failure, as far as it was found out
  std::vector<WireTensor> outputs;  // if the status is OK
};

class InferTask : public std::enable_shared_from_this<InferTask> {
 public:
  // Encodes the answer where it must go, and gives the size of what is sent. Called once, on any thread; its time
  // counts as output time.
  using Encode = std::function<size_t(InferAnswer)>;
  // Called once, after Encode and when statistics and log have been written: the request is over.
  using Done = std::function<void()>;

  explicit InferTask(const InferEnvironment& environment) : environment_(environment) {}

  // Reads the message before it returns, and may call `encode` and `done` before. Call once.
  void Start(const grpc::ByteBuffer& message, std::optional<std::chrono::steady_clock::time_point> deadline,
             std::string peer, Encode encode, Done done);

  // Asks the run to stop. Does nothing to a task that has ended or, apart from keeping it from running, not begun.
  // Thread-safe.
  void Cancel();

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status Prepare(const grpc::ByteBuffer& message, DispatchedCall& call);
  void OnResult(absl::StatusOr<c10::IValue> result);
  void Finish(absl::Status status, std::vector<WireTensor> outputs = {});
  void Report(const absl::Status& status, Clock::time_point now);

  const InferEnvironment& environment_;
  Encode encode_;
  Done done_;
  ServablePtr servable_;
  AnswerHeader header_;
  std::vector<std::string> requested_;
  AccessRecord record_;
  int64_t batch_size_ = 1;
  bool admitted_ = false;
  Clock::time_point arrived_, handed_over_, finished_;
  std::atomic<Clock::rep> began_{0};  // since the clock's epoch; 0: not yet

  std::mutex mutex_;
  bool cancelled_ = false;
  bool ended_ = false;
  std::shared_ptr<CallHandle> handle_;
};

}  // namespace hearth::server
