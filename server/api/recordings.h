// Recordings of live requests, for clients of ModelService's Record (record_call.h). A request that has ended leaves
// its message and, if asked for, its answer in the recording of its model; the client's call takes them from there.
//
// Memory is shared with the request where nobody writes it. What waits for the client is bounded: a request that finds
// no room is not recorded, which is counted, and never waits. While nobody records, a request looks at one flag.
// Thread-safe.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/support/memory_account.h"

namespace hearth::server {

class Recording {
 public:
  using Clock = std::chrono::steady_clock;

  // Of requests under way and of records that wait for the client.
  static constexpr int64_t kMostWaitingBytes = int64_t{64} << 20;
  static constexpr size_t kMostWaiting = 4096;

  struct Bounds {
    int64_t version = 0;    // that answers the requests; 0: any
    uint64_t requests = 0;  // 0: any number
    uint64_t bytes = 0;     // of all messages that are recorded
    bool answers = false;   // are recorded too
  };

  // One request.
  struct Entry {
    std::chrono::nanoseconds arrival{0};  // since the recording began
    std::chrono::nanoseconds duration{0};
    int64_t version = 0;
    const char* method = "";   // that takes the message
    const char* came_by = "";  // what brought it (RequestTask::operation)
    absl::Status status;
    grpc::ByteBuffer request;
    grpc::ByteBuffer answer;
    uint64_t lost = 0;                 // Ending::lost until then
    std::shared_ptr<const void> room;  // until the entry is sent
  };

  struct Ending {
    std::string why;
    uint64_t requests = 0;
    uint64_t lost = 0;  // not recorded, because there was no room for what waits
  };

  // `memory`, of all requests, outlives the recording; it may be null. `changed` is called, on any thread, when there
  // is more to take.
  Recording(Bounds bounds, MemoryAccount* memory, std::function<void()> changed)
      : bounds_(bounds), memory_(memory), changed_(std::move(changed)) {}

  // Nothing more is recorded. The first reason counts.
  void End(const std::string& why);

  // For the client's call: the next entry, in the order in which requests ended.
  std::optional<Entry> Next();
  // Once it has ended and every entry was taken.
  std::optional<Ending> ending() const;

 private:
  friend class RecordedCall;
  friend class Recordings;

  // For a request that begins: whether it may be recorded. Then Leave or Forget follows.
  bool Enter(int64_t version);
  void Leave(Entry entry, size_t bytes);
  // `lost`: for want of room.
  void Forget(bool lost);
  // Null where there is no room for what waits.
  std::shared_ptr<const void> TakeRoom(size_t bytes);

  const Bounds bounds_;
  MemoryAccount* const memory_;
  const std::function<void()> changed_;
  const Clock::time_point began_ = Clock::now();
  // Shared with what gives it back.
  const std::shared_ptr<std::atomic<int64_t>> waiting_bytes_ = std::make_shared<std::atomic<int64_t>>(0);

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  uint64_t entered_ = 0;  // that are under way, or recorded
  uint64_t recorded_ = 0;
  uint64_t bytes_ = 0;  // of what was recorded
  uint64_t lost_ = 0;
  std::optional<std::string> ended_;
};

// A request's place in a recording. Of one thread at a time. Without an End there is no record.
class RecordedCall {
 public:
  RecordedCall(std::shared_ptr<Recording> recording, Recording::Clock::time_point arrived, int64_t version);
  ~RecordedCall();
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  bool wants_answer() const { return recording_->bounds_.answers; }
  // For the request's message, before it is copied or kept: false where there is no room for it.
  bool TakeRoom(size_t bytes);
  // `method` lives as long as the process. The bytes must not change any more.
  void SetRequest(const char* method, grpc::ByteBuffer request);
  // Leaves it out where there is no room for it.
  void SetAnswer(grpc::ByteBuffer answer);
  // Makes no record: what it needs could not be kept.
  void GiveUp() { lost_ = true; }
  // Makes the record, if there was a message. `came_by` lives as long as the process.
  void End(const char* came_by, const absl::Status& status);

 private:
  const std::shared_ptr<Recording> recording_;
  const Recording::Clock::time_point arrived_;
  Recording::Entry entry_;
  bool has_request_ = false;
  bool lost_ = false;
  bool ended_ = false;
};

class Recordings {
 public:
  static constexpr size_t kMostRecordings = 8;

  // `memory`, of all requests, may be null.
  explicit Recordings(MemoryAccount* memory) : memory_(memory) {}

  // kUnavailable while the model is recorded for somebody else, for too many recordings, and after Stop.
  absl::StatusOr<std::shared_ptr<Recording>> Begin(const std::string& model, Recording::Bounds bounds,
                                                   std::function<void()> changed);
  // Its client is gone.
  void Remove(const std::shared_ptr<Recording>& recording);
  // Ends all, now and later: the server ends.
  void Stop();

  // For a request of the model that has arrived; null: nobody records it.
  std::unique_ptr<RecordedCall> Take(const std::string& model, int64_t version, Recording::Clock::time_point arrived) {
    if (!any_.load(std::memory_order_relaxed)) return nullptr;
    return TakeFrom(model, version, arrived);
  }

 private:
  std::unique_ptr<RecordedCall> TakeFrom(const std::string& model, int64_t version,
                                         Recording::Clock::time_point arrived);

  MemoryAccount* const memory_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, std::shared_ptr<Recording>> recordings_;  // by the model's name
};

}  // namespace hearth::server
