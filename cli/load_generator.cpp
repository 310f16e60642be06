#include "cli/load_generator.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLate(1);
constexpr size_t kMostErrors = 32;  // statuses; gRPC has 17

struct Call {
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::ByteBuffer answer;
  grpc::Status status;
  Clock::time_point due;
  uint64_t number = 0;  // the source's
  size_t connection = 0;
  bool measured = false;
};

class OneRequest final : public RequestSource {
 public:
  OneRequest(const std::string& method, const grpc::ByteBuffer& request) : method_(method), request_(request) {}

  bool Next(Request& request) override {
    request.method = &method_;
    request.message = &request_;
    return true;
  }

 private:
  const std::string& method_;
  const grpc::ByteBuffer& request_;
};

class Generator {
 public:
  Generator(const std::vector<Connection>& connections, RequestSource& source, const LoadOptions& options)
      : connections_(connections), source_(source), options_(options) {
    for (const Connection& connection : connections) {
      stubs_.push_back(std::make_unique<grpc::GenericStub>(connection.channel()));
    }
  }

  LoadResult Run() {
    const auto seconds = [](double count) {
      return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
    };
    start_ = Clock::now() + seconds(options_.warm_up);
    end_ = start_ + seconds(options_.seconds);
    calls_ = std::vector<Call>(static_cast<size_t>(options_.clients));
    for (Call& call : calls_) idle_.push_back(&call);
    std::thread answers([this] { ReadAnswers(); });
    if (is_open()) {
      SendInTime();
    } else {
      // From then on each client's next request follows its answer.
      bool more = true;
      for (size_t i = 0; i < calls_.size() && more && !Over(Clock::now()); ++i) {
        Call* const call = TakeIdle();
        more = SendNext(*call);
        if (!more) GiveBack(*call);
      }
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return idle_.size() == calls_.size(); });
    }
    queue_.Shutdown();
    answers.join();
    result_.late = late_;
    if (last_ > start_) result_.seconds = std::chrono::duration<double>(last_ - start_).count();
    return std::move(result_);
  }

 private:
  bool Over(Clock::time_point now) const {
    return now >= end_ || (options_.requests > 0 && measured_ >= options_.requests);
  }

  bool is_open() const { return options_.rate > 0 || options_.timed; }

  // The next request of a closed loop; false where there is none.
  bool SendNext(Call& call) {
    const std::lock_guard lock(source_mutex_);
    RequestSource::Request request;
    if (!source_.Next(request)) return false;
    Send(call, request, Clock::now());
    return true;
  }

  void Send(Call& call, const RequestSource::Request& request, Clock::time_point due) {
    call.due = due;
    call.number = request.number;
    call.measured = due >= start_;
    if (call.measured) ++measured_;
    call.connection = next_connection_++ % connections_.size();
    // It lies in memory of the call that the context holds.
    call.reader.reset();
    call.context.emplace();
    connections_[call.connection].Prepare(*call.context);
    call.answer.Clear();
    call.reader = stubs_[call.connection]->PrepareUnaryCall(&*call.context, *request.method, *request.message, &queue_);
    call.reader->StartCall();
    call.reader->Finish(&call.answer, &call.status, &call);
  }

  Call* TakeIdle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !idle_.empty(); });
    Call* call = idle_.back();
    idle_.pop_back();
    return call;
  }

  void GiveBack(Call& call) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(&call);
    }
    changed_.notify_one();
  }

  // The requests of an open loop.
  void SendInTime() {
    const auto interval = std::chrono::duration<double>(options_.timed ? 0 : 1 / options_.rate);
    const auto first = Clock::now();
    RequestSource::Request request;
    for (uint64_t i = 0; source_.Next(request); ++i) {
      const auto due =
          first + (options_.timed ? std::chrono::duration_cast<Clock::duration>(request.due)
                                  : std::chrono::duration_cast<Clock::duration>(interval * static_cast<double>(i)));
      if (Over(due)) return;
      std::this_thread::sleep_until(due);
      Call* const call = TakeIdle();
      if (due >= start_ && Clock::now() - due > kLate) ++late_;
      Send(*call, request, due);
    }
  }

  void ReadAnswers() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      Call& call = *static_cast<Call*>(tag);
      const auto now = Clock::now();
      if (call.measured) Count(call, now);
      source_.OnAnswer(call.number, call.status, call.answer);
      if (!is_open() && !Over(now) && SendNext(call)) continue;
      GiveBack(call);
    }
  }

  // On the thread of the answers alone.
  void Count(const Call& call, Clock::time_point now) {
    last_ = std::max(last_, now);
    if (call.status.ok()) return result_.latencies.Add(now - call.due);
    ++result_.failed;
    std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(call.status.error_code()));
    if (result_.errors.size() >= kMostErrors && !result_.errors.contains(name)) return;
    LoadResult::Error& error = result_.errors[std::move(name)];
    if (error.count++ == 0) error.message = call.status.error_message();
  }

  const std::vector<Connection>& connections_;
  RequestSource& source_;
  std::mutex source_mutex_;  // of a closed loop
  const LoadOptions& options_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::vector<Call> calls_;
  Clock::time_point start_, end_, last_;
  std::atomic<uint64_t> measured_{0};
  std::atomic<size_t> next_connection_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call*> idle_;
  uint64_t late_ = 0;  // counted by the thread that sends
  LoadResult result_;
};

}  // namespace

LoadResult GenerateLoad(const std::vector<Connection>& connections, RequestSource& source, const LoadOptions& options) {
  return Generator(connections, source, options).Run();
}

LoadResult GenerateLoad(const std::vector<Connection>& connections, const std::string& method,
                        const grpc::ByteBuffer& request, const LoadOptions& options) {
  OneRequest source(method, request);
  return GenerateLoad(connections, source, options);
}

}  // namespace hearth::cli
