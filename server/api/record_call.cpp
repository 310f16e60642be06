#include "server/api/record_call.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/text.h"
#include "proto/hearth.pb.h"
#include "server/api/guarded.h"
#include "server/api/read_message.h"
#include "server/api/recordings.h"
#include "server/api/send_limit.h"
#include "server/api/slice_builder.h"
#include "server/api/status.h"

namespace hearth::server {
namespace {

constexpr size_t kMostPeerText = 256;
constexpr double kMostRecordSeconds = 3600;
constexpr double kUsualRecordSeconds = 60;
constexpr uint64_t kUsualRecordBytes = uint64_t{256} << 20;

spdlog::logger& RecordLog() {
  static spdlog::logger& log = LoggerOf("api/record");
  return log;
}

absl::Status CheckRecordRequest(const v1::RecordRequest& request) {
  if (request.seconds() >= 0 && request.seconds() <= kMostRecordSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("seconds is ", request.seconds(), "; a recording may take ", kMostRecordSeconds));
}

// The number of the version that is to be recorded; 0: any.
absl::StatusOr<int64_t> VersionToRecord(const Repository& repository, const v1::RecordRequest& request) {
  if (request.version().empty()) {
    if (repository.Knows(request.model())) return 0;
    return absl::NotFoundError(absl::StrCat("unknown model '", request.model(), "'"));
  }
  const auto servable = repository.Find(request.model(), request.version());
  if (!servable.ok()) return servable.status();
  return (*servable)->version;
}

grpc::ByteBuffer EncodeHeader(const v1::RecordRequest& request) {
  v1::RecordPart record;
  v1::RecordHeader& header = *record.mutable_header();
  header.set_format("hearth-record");
  header.set_format_version(1);
  header.set_model(request.model());
  header.set_began_ns(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  header.set_answers(request.answers());
  grpc::ByteBuffer message;
  WriteMessage(record, message);
  return message;
}

grpc::ByteBuffer EncodeEnd(const Recording::Ending& ending) {
  v1::RecordPart record;
  v1::RecordEnd& end = *record.mutable_end();
  end.set_reason(ending.why);
  end.set_requests(ending.requests);
  end.set_lost(ending.lost);
  grpc::ByteBuffer message;
  WriteMessage(record, message);
  return message;
}

// Over the entry's own memory.
grpc::ByteBuffer EncodeEntry(const Recording::Entry& entry) {
  v1::RecordedRequest fields;
  fields.set_arrival_ns(static_cast<uint64_t>(entry.arrival.count()));
  fields.set_duration_ns(static_cast<uint64_t>(entry.duration.count()));
  fields.set_version(std::to_string(entry.version));
  fields.set_method(entry.method);
  fields.set_came_by(entry.came_by);
  fields.set_code(static_cast<int32_t>(entry.status.code()));
  fields.set_error(std::string(entry.status.message()));
  fields.set_lost(entry.lost);
  SliceBuilder builder;
  fields.AppendToString(&builder.text());
  builder.AddBytes(v1::RecordedRequest::kRequestFieldNumber, entry.request);
  if (entry.answer.Length() > 0) builder.AddBytes(v1::RecordedRequest::kAnswerFieldNumber, entry.answer);
  return builder.TakeAsField(v1::RecordPart::kRequestFieldNumber);
}

// Decisions are made under the lock, operations on the stream are started after it: gRPC may run the next reaction
// before the start returns.
class RecordCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                         public std::enable_shared_from_this<RecordCall> {
 public:
  RecordCall(const CallEnvironment& calls, const RequestEnvironment& environment, grpc::CallbackServerContext* context)
      : calls_(calls), environment_(environment), context_(context) {}

  void Start(grpc::ByteBuffer message) {
    self_ = shared_from_this();
    const absl::Status status = Guarded([&] { return Begin(message); });
    if (!status.ok()) {
      {
        const std::lock_guard lock(mutex_);
        finished_ = true;
      }
      if (recording_ != nullptr) environment_.recordings->Remove(recording_);
      return Finish(ToGrpc(status));
    }
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    Advance();
  }

  void OnWriteDone(bool ok) override {
    send_limit_.End();
    std::shared_ptr<const void> room;  // goes after the lock
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      room = std::move(room_);
      if (!ok) cancelled_ = true;
    }
    Advance();
  }

  void OnCancel() override {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    Advance();
  }

  void OnDone() override {
    send_limit_.End();
    alarm_.Cancel();
    self_ = nullptr;
  }

 private:
  absl::Status Begin(grpc::ByteBuffer& message) {
    v1::RecordRequest request;
    absl::Status status = ReadMessage(message, {}, nullptr, request);
    if (status.ok()) status = CheckRecordRequest(request);
    if (!status.ok()) return status;
    const auto version = VersionToRecord(environment_.repository, request);
    if (!version.ok()) return version.status();
    const Recording::Bounds bounds{*version, request.requests(),
                                   request.bytes() > 0 ? request.bytes() : kUsualRecordBytes, request.answers()};
    // The call outlives the recording's place among those that are made, and is told nothing after that.
    auto begun = environment_.recordings->Begin(request.model(), bounds, [waiting = weak_from_this()] {
      if (const auto call = waiting.lock()) call->Advance();
    });
    if (!begun.ok()) return begun.status();
    recording_ = *std::move(begun);
    model_ = request.model();
    RecordLog().info("requests of model {} are being recorded for {}", model_, ForLog(context_->peer(), kMostPeerText));
    message_ = EncodeHeader(request);
    has_message_ = true;
    const std::chrono::duration<double> time(request.seconds() > 0 ? request.seconds() : kUsualRecordSeconds);
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(time),
               [recording = recording_](bool passed) {
                 if (passed) recording->End("its time is over");
               });
    return absl::OkStatus();
  }

  void Advance() {
    const auto self = shared_from_this();
    bool write = false, finish = false, cancelled = false;
    {
      const std::lock_guard lock(mutex_);
      cancelled = cancelled_;
      if (!started_ || finished_ || writing_) return;
      if (cancelled_) {
        finish = finished_ = true;
      } else if (has_message_ || TakeNext()) {
        has_message_ = false;
        write = writing_ = true;
      } else if (has_ended_) {
        finish = finished_ = true;
      }
    }
    if (write) {
      send_limit_.Begin(*context_, calls_.send_time);
      StartWrite(&message_);
    }
    if (!finish) return;
    // Before the client hears of the end, so that it may ask for another one.
    environment_.recordings->Remove(recording_);
    Finish(cancelled ? grpc::Status::CANCELLED : grpc::Status::OK);
  }

  // Called under the lock. The next message, if there is one.
  bool TakeNext() {
    if (has_ended_) return false;
    while (auto entry = recording_->Next()) {
      try {
        message_ = EncodeEntry(*entry);
        room_ = std::move(entry->room);
        return true;
      } catch (const std::exception& error) {
        // It may be a request's thread that gets here, with an answer that somebody waits for.
        RecordLog().warn("a request of model {} could not be recorded: {}", model_, error.what());
      }
    }
    const auto ending = recording_->ending();
    if (!ending) return false;
    message_ = EncodeEnd(*ending);
    RecordLog().info("{} requests of model {} were recorded, {} lost: {}", ending->requests, model_, ending->lost,
                     ending->why);
    has_ended_ = true;
    return true;
  }

  const CallEnvironment& calls_;
  const RequestEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<RecordCall> self_;
  std::shared_ptr<Recording> recording_;
  std::string model_;
  grpc::Alarm alarm_;
  SendLimit send_limit_;  // of the message that is being written

  std::mutex mutex_;
  grpc::ByteBuffer message_;  // the one that is written, or is to be (has_message_)
  std::shared_ptr<const void> room_;
  bool started_ = false;
  bool has_message_ = false;
  bool writing_ = false;
  bool cancelled_ = false;
  bool has_ended_ = false;  // and the message that says so has been taken
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartRecordCall(const CallEnvironment& calls,
                                                            const RequestEnvironment& environment,
                                                            grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request) {
  auto call = std::make_shared<RecordCall>(calls, environment, context);
  call->Start(*request);
  return call.get();
}

}  // namespace hearth::server
