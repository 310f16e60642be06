#include "server/api/stream_call.h"

#include <deque>
#include <utility>

#include "server/api/infer_task.h"
#include "server/api/response_message.h"
#include "server/api/unary_call.h"

namespace hearth::server {
namespace {

// Requests of one stream that are read and not yet answered.
constexpr size_t kMostAhead = 64;

}  // namespace

// Decisions are made under the lock, operations on the stream are started after it: gRPC may run the next reaction
// before the start returns.
class StreamCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                   public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(const RequestEnvironment& environment, StreamRegistry& registry, grpc::CallbackServerContext* context)
      : environment_(environment), registry_(registry), context_(context), peer_(context->peer()) {}

  void Start() {
    self_ = shared_from_this();
    if (registry_.Add(self_)) {
      StartRead(&read_);
    } else {
      StopReading();
    }
  }

  void StopReading() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    Advance();
  }

  void OnReadDone(bool ok) override {
    std::shared_ptr<Slot> slot;
    bool read_more = false;
    {
      std::lock_guard lock(mutex_);
      if (!ok) {
        client_done_ = true;
      } else if (!stopped_ && !client_done_) {
        slot = std::make_shared<Slot>();
        slot->task = std::make_shared<InferTask>(environment_, InferTask::Form::kStream);
        slots_.push_back(slot);
      }
    }
    if (slot != nullptr) {
      const auto self = shared_from_this();
      // The slot lets go of its task when that ends, which may be before Start returns.
      const auto task = slot->task;
      task->Start(read_, DeadlineOf(*context_), peer_, [self, slot](absl::Status status, grpc::ByteBuffer& answer) {
        if (status.ok()) {
          answer.Swap(&slot->answer);
        } else {
          EncodeStreamError(std::string(status.message()), slot->task->id()).Swap(&slot->answer);
        }
        {
          std::lock_guard lock(self->mutex_);
          slot->ready = true;
          slot->task = nullptr;
        }
        self->Advance();
      });
      std::lock_guard lock(mutex_);
      read_.Clear();
      read_more = !stopped_ && !client_done_ && slots_.size() < kMostAhead;
      reading_ = read_more;
    } else {
      std::lock_guard lock(mutex_);
      reading_ = false;
    }
    if (read_more) StartRead(&read_);
    Advance();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = nullptr;
    }
    Advance();
  }

  void OnCancel() override {
    std::vector<std::shared_ptr<RequestTask>> tasks;
    {
      std::lock_guard lock(mutex_);
      client_done_ = true;
      for (const auto& slot : slots_) {
        if (slot->task != nullptr) tasks.push_back(slot->task);
      }
    }
    for (const auto& task : tasks) task->Cancel();
    Advance();
  }

  void OnDone() override {
    registry_.Remove(self_);
    self_ = nullptr;
  }

 private:
  struct Slot {
    std::shared_ptr<RequestTask> task;  // null when it has ended
    bool ready = false;
    grpc::ByteBuffer answer;
  };

  // Starts the next operation that the state allows: a write of the first answer, a read, the end.
  void Advance() {
    const auto self = shared_from_this();
    std::shared_ptr<Slot> write;
    bool read = false, finish = false, stopped = false;
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (writing_ == nullptr && !slots_.empty() && slots_.front()->ready) {
        write = writing_ = slots_.front();
        slots_.pop_front();
      }
      const bool may_read = !client_done_ && !stopped_;
      if (may_read && !reading_ && slots_.size() < kMostAhead) read = reading_ = true;
      finish = finished_ = !may_read && slots_.empty() && writing_ == nullptr;
      stopped = stopped_ && !client_done_;
    }
    if (write != nullptr) StartWrite(&write->answer);
    if (read) StartRead(&read_);
    if (!finish) return;
    Finish(stopped ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down") : grpc::Status::OK);
  }

  const RequestEnvironment& environment_;
  StreamRegistry& registry_;
  grpc::CallbackServerContext* const context_;
  const std::string peer_;
  grpc::ByteBuffer read_;
  std::shared_ptr<StreamCall> self_;

  std::mutex mutex_;
  std::deque<std::shared_ptr<Slot>> slots_;  // in the order of the requests
  std::shared_ptr<Slot> writing_;
  bool reading_ = true;
  bool client_done_ = false;
  bool stopped_ = false;
  bool finished_ = false;
};

bool StreamRegistry::Add(std::shared_ptr<StreamCall> call) {
  std::lock_guard lock(mutex_);
  if (!stopped_) calls_.insert(std::move(call));
  return !stopped_;
}

void StreamRegistry::Remove(const std::shared_ptr<StreamCall>& call) {
  std::lock_guard lock(mutex_);
  calls_.erase(call);
}

void StreamRegistry::StopReading() {
  std::set<std::shared_ptr<StreamCall>> calls;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    calls = calls_;
  }
  for (const auto& call : calls) call->StopReading();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStreamCall(const RequestEnvironment& environment,
                                                                             StreamRegistry& registry,
                                                                             grpc::CallbackServerContext* context) {
  auto call = std::make_shared<StreamCall>(environment, registry, context);
  call->Start();
  return call.get();
}

}  // namespace hearth::server
