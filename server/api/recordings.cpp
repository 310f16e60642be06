#include "server/api/recordings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

constexpr const char* kRecordingStopped = "the server is shutting down";

}  // namespace

bool Recording::Enter(int64_t version) {
  if (bounds_.version != 0 && version != bounds_.version) return false;
  const std::lock_guard lock(mutex_);
  if (ended_ || (bounds_.requests > 0 && entered_ >= bounds_.requests)) return false;
  ++entered_;
  return true;
}

std::shared_ptr<const void> Recording::TakeRoom(size_t bytes) {
  const auto count = static_cast<int64_t>(bytes);
  if (waiting_bytes_->fetch_add(count) + count > kMostWaitingBytes) {
    *waiting_bytes_ -= count;
    return nullptr;
  }
  struct Room {
    Room(std::shared_ptr<std::atomic<int64_t>> all, int64_t own) : waiting(std::move(all)), bytes(own) {}
    ~Room() { *waiting -= bytes; }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    const std::shared_ptr<std::atomic<int64_t>> waiting;
    const int64_t bytes;
    std::optional<MemoryAccount> account;
  };
  const auto room = std::make_shared<Room>(waiting_bytes_, count);
  if (memory_ == nullptr) return room;
  try {
    room->account.emplace(memory_->limit(), memory_);
    room->account->Charge(bytes);
  } catch (const MemoryLimitError&) {
    return nullptr;
  }
  return room;
}

void Recording::Leave(Entry entry, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (entries_.size() >= kMostWaiting) {
      ++lost_;
      --entered_;
      return;
    }
    if (bytes > bounds_.bytes - bytes_) {
      ended_ = absl::StrCat("the next request would have made it more than ", bounds_.bytes, " bytes");
    } else {
      bytes_ += bytes;
      entry.lost = lost_;
      entries_.push_back(std::move(entry));
      if (++recorded_ == bounds_.requests) ended_ = "it has as many requests as were asked for";
    }
  }
  changed_();
}

void Recording::Forget(bool lost) {
  const std::lock_guard lock(mutex_);
  --entered_;
  if (lost && !ended_) ++lost_;
}

void Recording::End(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = why;
  }
  changed_();
}

std::optional<Recording::Entry> Recording::Next() {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return std::nullopt;
  std::optional<Entry> entry = std::move(entries_.front());
  entries_.pop_front();
  return entry;
}

std::optional<Recording::Ending> Recording::ending() const {
  const std::lock_guard lock(mutex_);
  if (!ended_ || !entries_.empty()) return std::nullopt;
  return Ending{*ended_, recorded_, lost_};
}

RecordedCall::RecordedCall(std::shared_ptr<Recording> recording, Recording::Clock::time_point arrived, int64_t version)
    : recording_(std::move(recording)), arrived_(arrived) {
  entry_.version = version;
}

RecordedCall::~RecordedCall() {
  if (!ended_) recording_->Forget(lost_);
}

bool RecordedCall::TakeRoom(size_t bytes) {
  auto room = recording_->TakeRoom(bytes);
  lost_ = lost_ || room == nullptr;
  if (lost_) return false;
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  entry_.room = std::make_shared<Both>(std::move(entry_.room), std::move(room));
  return true;
}

void RecordedCall::SetRequest(const char* method, grpc::ByteBuffer request) {
  entry_.method = method;
  entry_.request.Swap(&request);
  has_request_ = true;
}

void RecordedCall::SetAnswer(grpc::ByteBuffer answer) {
  if (TakeRoom(answer.Length())) entry_.answer.Swap(&answer);
}

void RecordedCall::End(const char* came_by, const absl::Status& status) {
  if (lost_ || !has_request_) return;
  ended_ = true;
  entry_.arrival = std::max(arrived_ - recording_->began_, Recording::Clock::duration::zero());
  entry_.duration = Recording::Clock::now() - arrived_;
  entry_.came_by = came_by;
  entry_.status = status;
  const size_t bytes = entry_.request.Length() + entry_.answer.Length();
  recording_->Leave(std::move(entry_), bytes);
}

absl::StatusOr<std::shared_ptr<Recording>> Recordings::Begin(const std::string& model, Recording::Bounds bounds,
                                                             std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return absl::UnavailableError(kRecordingStopped);
  if (recordings_.contains(model)) {
    return absl::UnavailableError(absl::StrCat("another recording of model '", model, "' is being made"));
  }
  if (recordings_.size() >= kMostRecordings) {
    return absl::UnavailableError(absl::StrCat(kMostRecordings, " recordings are being made, which is the most"));
  }
  auto recording = std::make_shared<Recording>(bounds, memory_, std::move(changed));
  recordings_.emplace(model, recording);
  any_ = true;
  return recording;
}

void Recordings::Remove(const std::shared_ptr<Recording>& recording) {
  recording->End("its client is gone");
  const std::lock_guard lock(mutex_);
  std::erase_if(recordings_, [&](const auto& each) { return each.second == recording; });
  any_ = !recordings_.empty();
}

void Recordings::Stop() {
  std::map<std::string, std::shared_ptr<Recording>> recordings;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    recordings = recordings_;
  }
  for (const auto& [model, recording] : recordings) recording->End(kRecordingStopped);
}

std::unique_ptr<RecordedCall> Recordings::TakeFrom(const std::string& model, int64_t version,
                                                   Recording::Clock::time_point arrived) {
  std::shared_ptr<Recording> recording;
  {
    const std::lock_guard lock(mutex_);
    const auto found = recordings_.find(model);
    if (found != recordings_.end()) recording = found->second;
  }
  if (recording == nullptr || !recording->Enter(version)) return nullptr;
  return std::make_unique<RecordedCall>(std::move(recording), arrived, version);
}

}  // namespace hearth::server
