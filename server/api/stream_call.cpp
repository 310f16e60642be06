#include "server/api/stream_call.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "server/api/message_infer_task.h"
#include "server/api/response_message.h"
#include "server/api/send_limit.h"
#include "server/api/unary_call.h"

namespace hearth::server {
namespace {

// Requests of one stream that are read and whose answers are not yet being sent: a few at first, and one more with each
// answer that is sent.
constexpr size_t kFirstAhead = 4;
constexpr size_t kMostAhead = 64;
// Of their answers, if each is as large as the last one that is known.
constexpr size_t kMostUnsentBytes = 16 << 20;

}  // namespace

// Decisions are made under the lock, operations on the stream are started after it: gRPC may run the next reaction
// before the start returns.
class StreamCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                   public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(const CallEnvironment& calls, const RequestEnvironment& environment, StreamRegistry& registry,
             grpc::CallbackServerContext* context)
      : calls_(calls), environment_(environment), registry_(registry), context_(context), peer_(context->peer()) {}

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
        slot->message.Swap(&read_);
        slot->task = std::make_shared<MessageInferTask>(environment_, MessageInferTask::Form::kStream);
        slots_.push_back(slot);
      }
    }
    if (slot != nullptr) {
      const auto self = shared_from_this();
      if (slot->task->wants_caller_trace()) slot->task->set_caller_trace(CallerTraceOf(*context_));
      slot->task->Start(slot->message, DeadlineOf(*context_), peer_,
                        [self, slot](absl::Status status, grpc::ByteBuffer& answer) {
                          if (status.ok()) {
                            answer.Swap(&slot->answer);
                          } else {
                            EncodeStreamError(std::string(status.message()), slot->task->id()).Swap(&slot->answer);
                          }
                          slot->answer_bytes = slot->answer.Length();
                          slot->message.Clear();
                          {
                            std::lock_guard lock(self->mutex_);
                            slot->ready = true;
                            self->unsent_bytes_ += slot->answer_bytes;
                            self->answer_bytes_ = slot->answer_bytes;
                          }
                          self->Advance();
                        });
      std::lock_guard lock(mutex_);
      read_more = MayReadMore();
      reading_ = read_more;
    } else {
      std::lock_guard lock(mutex_);
      reading_ = false;
    }
    if (read_more) StartRead(&read_);
    Advance();
  }

  void OnWriteDone(bool ok) override {
    send_limit_.End();
    {
      std::lock_guard lock(mutex_);
      unsent_bytes_ -= writing_->answer_bytes;
      ++answers_sent_;
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
        if (!slot->ready) tasks.push_back(slot->task);
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
    grpc::ByteBuffer message;
    std::shared_ptr<RequestTask> task;  // holds the memory account of the answer
    bool ready = false;
    grpc::ByteBuffer answer;
    size_t answer_bytes = 0;
  };

  // Called under the lock.
  bool MayReadMore() const {
    if (stopped_ || client_done_ || slots_.size() >= std::min(kFirstAhead + answers_sent_, kMostAhead)) return false;
    return slots_.empty() || (slots_.size() + 1) * answer_bytes_ <= kMostUnsentBytes;
  }

  // Starts the next operation that the state allows: a write of the first answer, a read, the end.
  void Advance() {
    const auto self = shared_from_this();
    std::shared_ptr<Slot> write;
    bool read = false, finish = false, stopped = false, limited = false;
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (writing_ == nullptr && !slots_.empty() && slots_.front()->ready) {
        write = writing_ = slots_.front();
        slots_.pop_front();
        limited = unsent_bytes_ > SendLimit::kFewBytes;
      }
      const bool may_read = !client_done_ && !stopped_;
      if (!reading_ && MayReadMore()) read = reading_ = true;
      finish = finished_ = !may_read && slots_.empty() && writing_ == nullptr;
      stopped = stopped_ && !client_done_;
    }
    if (limited) send_limit_.Begin(*context_, calls_.send_time);
    if (write != nullptr) StartWrite(&write->answer);
    if (read) StartRead(&read_);
    if (!finish) return;
    Finish(stopped ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down") : grpc::Status::OK);
  }

  const CallEnvironment& calls_;
  const RequestEnvironment& environment_;
  StreamRegistry& registry_;
  grpc::CallbackServerContext* const context_;
  const std::string peer_;
  grpc::ByteBuffer read_;
  SendLimit send_limit_;  // of the answer that is being written
  std::shared_ptr<StreamCall> self_;

  std::mutex mutex_;
  std::deque<std::shared_ptr<Slot>> slots_;  // in the order of the requests
  std::shared_ptr<Slot> writing_;
  size_t unsent_bytes_ = 0;  // of answers that are ready
  size_t answer_bytes_ = 0;  // of the last one
  size_t answers_sent_ = 0;
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

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStreamCall(const CallEnvironment& calls,
                                                                             const RequestEnvironment& environment,
                                                                             StreamRegistry& registry,
                                                                             grpc::CallbackServerContext* context) {
  auto call = std::make_shared<StreamCall>(calls, environment, registry, context);
  call->Start();
  return call.get();
}

}  // namespace hearth::server
