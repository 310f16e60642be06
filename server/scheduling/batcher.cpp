#include "server/scheduling/batcher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/scheduling/retry_advice.h"
#include "server/scheduling/split_call.h"

namespace hearth::server {
namespace {

// And the largest itself.
std::vector<int64_t> PowersOfTwo(int64_t largest) {
  std::vector<int64_t> powers;
  for (int64_t power = 1; power < largest; power *= 2) powers.push_back(power);
  powers.push_back(largest);
  return powers;
}

}  // namespace

// Members that are answered without a run's answer.
struct Batcher::Departures {
  struct One {
    DispatchCallback callback;
    absl::Status status;
    // Of a member that was in no batch; a batch keeps what it runs with until it ends.
    ServablePtr servable;
    DispatchedCall call;
  };
  std::vector<One> members;
  std::vector<std::shared_ptr<CallHandle>> runs;  // that nobody waits for any more
};

class Batcher::Handle final : public CallHandle {
 public:
  Handle(std::weak_ptr<Batcher> batcher, BatchMemberPtr member)
      : batcher_(std::move(batcher)), member_(std::move(member)) {}
  void Cancel() override {
    if (const auto batcher = batcher_.lock()) batcher->Cancel(member_);
  }

 private:
  const std::weak_ptr<Batcher> batcher_;
  const BatchMemberPtr member_;
};

Batcher::Batcher(const QueueSettings& settings, ModelShare& share, BatcherHost& host)
    : settings_(settings),
      share_(share),
      host_(host),
      allowed_(
          settings.allowed.value_or(host.pads_batches() ? PowersOfTwo(settings.max_rows) : std::vector<int64_t>())),
      waiting_(settings),
      delay_(settings.delay),
      control_(settings.longest_wait.value_or(host.longest_wait())) {}

int64_t Batcher::MostRuns() const {
  if (settings_.runs > 0) return settings_.runs;
  const bool batches = settings_.batches() && wrong_answers_ < kMostWrongAnswers;
  return batches ? host_.most_batches() : host_.most_runs();
}

int64_t Batcher::PaddingOf(int64_t rows) const {
  if (rows == 0 || wrong_answers_ >= kMostWrongAnswers) return 0;
  const auto size = std::ranges::lower_bound(allowed_, rows);
  return size == allowed_.end() ? 0 : *size - rows;
}

absl::StatusOr<std::shared_ptr<CallHandle>> Batcher::Add(const ServablePtr& servable, DispatchedCall call,
                                                         DispatchCallback callback) {
  if (settings_.splits && MayJoin(call)) {
    const auto key = BatchKeyOf(call.arguments);
    if (key && key->rows > settings_.max_rows)
      return AddParts(servable, std::move(call), std::move(callback), key->rows);
  }
  {
    std::unique_lock lock(mutex_);
    std::optional<RunSlot> slot;
    const TimePoint now = host_.now();
    delay_.Came(1, now);
    const bool waits = MayJoin(call) && delay_.WaitEnd(1, now, run_free_) > now;
    const bool is_free = waiting_.empty() && !waits && runs_ < MostRuns();
    const bool as_it_is = !MayJoin(call) || (PaddingOf(call.rows) == 0 && settings_.padding.multiple == 1);
    if (is_free && as_it_is) slot = host_.TakeSlot(share_, nullptr);
    if (slot) {
      ++runs_;
      lock.unlock();
      return host_.RunCall(servable, std::move(call),
                           [this, slot = *slot, callback = std::move(callback)](absl::StatusOr<c10::IValue> answer,
                                                                                const Execution& execution) {
                             Answered(1, answer.ok() ? execution.rows : 0, slot);
                             if (!settings_.keeps_order) FreeRun(slot, nullptr);
                             callback(std::move(answer), execution);
                             if (settings_.keeps_order) FreeRun(slot, nullptr);
                           });
    }
  }
  const BatchMemberPtr member = NewMember(servable, std::move(call), std::move(callback));
  if (absl::Status status = Enqueue({&member, 1}); !status.ok()) return status;
  StartReady();
  return std::make_shared<Handle>(weak_from_this(), member);
}

absl::Status Batcher::Enqueue(std::span<const BatchMemberPtr> members) {
  std::lock_guard lock(mutex_);
  const BatchMember& first = *members.front();
  if (waiting_.empty()) control_.FoundEmpty(first.arrived);
  if (absl::Status status = CheckRoom(first); !status.ok()) {
    delay_.Left(static_cast<int64_t>(members.size()), first.arrived);
    return WithAdvice(std::move(status));
  }
  if (members.size() > 1) host_.CallsBegan(static_cast<int64_t>(members.size()) - 1);
  for (const BatchMemberPtr& member : members) {
    waiting_.Add(member);
    SetAlarm(member->alarm());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<CallHandle>> Batcher::AddParts(const ServablePtr& servable, DispatchedCall call,
                                                              DispatchCallback callback, int64_t rows) {
  if (rows > settings_.most_request_rows()) {
    return absl::InvalidArgumentError(absl::StrCat("the request has a batch of ", rows, "; the model takes at most ",
                                                   settings_.most_request_rows(), ", in ", kMostPartsOfRequest,
                                                   " parts of ", settings_.max_rows));
  }
  auto split = std::make_shared<SplitCall>(servable, std::move(call), std::move(callback), rows, settings_.max_rows);
  std::vector<BatchMemberPtr> members;
  for (SplitCall::Part& part : split->TakeParts())
    members.push_back(NewMember(servable, std::move(part.call), std::move(part.callback)));
  {
    std::lock_guard lock(mutex_);
    delay_.Came(static_cast<int64_t>(members.size()), host_.now());
  }
  if (absl::Status status = Enqueue(members); !status.ok()) return status;
  std::vector<std::shared_ptr<CallHandle>> handles;
  for (const BatchMemberPtr& member : members) handles.push_back(std::make_shared<Handle>(weak_from_this(), member));
  split->SetHandles(std::move(handles));
  StartReady();
  return split;
}

absl::Status Batcher::CheckRoom(const BatchMember& member) const {
  const int64_t level = member.level;
  const std::string& model = member.servable->name;
  const int64_t most = settings_.PolicyOf(level).max_waiting;
  if (most > 0 && waiting_.of_level(level) >= most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue of model '", model, "' is full: ", most,
                     settings_.has_levels() ? absl::StrCat(" requests of priority ", level) : " requests",
                     " wait, which is its bound"));
  }
  const int64_t ahead = waiting_.up_to_level(level);
  // Those that are let in show how fast the queue moves now.
  if (ahead == 0) return absl::OkStatus();
  const QueueControl::Duration wait = control_.WaitAt(ahead + 1);
  const auto refusal = [&](const char* why, QueueControl::Duration time) {
    const auto milliseconds = [](QueueControl::Duration of) {
      return std::chrono::ceil<std::chrono::milliseconds>(of).count();
    };
    return absl::ResourceExhaustedError(
        absl::StrCat("the model '", model, "' has more requests than it can answer: ", ahead, " wait, which takes ",
                     milliseconds(wait), " ms; ", why, milliseconds(time), " ms"));
  };
  if (member.call.deadline && *member.call.deadline - member.arrived <= wait) {
    return refusal("the request's deadline is in ", *member.call.deadline - member.arrived);
  }
  // A batch that waits beside the one that is run is no overload.
  const QueueControl::Duration allowed = control_.AllowedWait(member.arrived);
  if (ahead >= 2 * settings_.max_rows && wait > allowed) return refusal("a request may now wait for ", allowed);
  return absl::OkStatus();
}

absl::Status Batcher::Advised(absl::Status refusal) {
  std::lock_guard lock(mutex_);
  return WithAdvice(std::move(refusal));
}

absl::Status Batcher::WithAdvice(absl::Status refusal) const {
  const QueueControl::Duration wait = control_.WaitAt(static_cast<int64_t>(waiting_.size()));
  return wait == wait.zero() ? refusal : WithRetryAfter(std::move(refusal), wait);
}

bool Batcher::MayJoin(const DispatchedCall& call) const {
  return settings_.batches() && MayShareAnswer(call) && wrong_answers_ < kMostWrongAnswers;
}

BatchMemberPtr Batcher::NewMember(const ServablePtr& servable, DispatchedCall call, DispatchCallback callback) {
  auto member = std::make_shared<BatchMember>();
  const int64_t level = settings_.LevelOf(call.queue.priority);
  member->level = level;
  member->arrived = host_.now();
  const QueueSettings::Policy& policy = settings_.PolicyOf(level);
  std::chrono::microseconds timeout = policy.timeout;
  if (policy.may_shorten && call.queue.timeout && (timeout.count() == 0 || *call.queue.timeout < timeout)) {
    timeout = *call.queue.timeout;
  }
  if (timeout.count() > 0) member->timeout = member->arrived + timeout;
  if (control_.bound().count() > 0) member->latest = member->arrived + control_.bound();
  if (MayJoin(call)) {
    if (auto key = BatchKeyOf(call.arguments, settings_.padding); key && key->rows <= settings_.max_rows)
      member->key = *std::move(key);
  }
  member->servable = servable;
  member->call = std::move(call);
  member->callback = std::move(callback);
  return member;
}

BatchPtr Batcher::TakeReady(TimePoint now, std::optional<RunSlot> slot, Departures& departures) {
  while (!waiting_.empty() && runs_ < MostRuns()) {
    std::vector<BatchDraft> drafts = waiting_.DraftBatches();
    const auto ready = std::ranges::find_if(drafts, [&](const BatchDraft& draft) {
      if (draft.full || draft.preferred > 0) return true;
      const TimePoint end = WaitEndOf(draft);
      if (end <= now) {
        if (waits_for_calls_) delay_.WaitEnded();
        return true;
      }
      SetAlarm(end);
      return false;
    });
    waits_for_calls_ = ready == drafts.end();
    if (waits_for_calls_) return nullptr;
    if (ready->preferred > 0) ready->members.resize(ready->preferred);
    DropLate(ready->members, now, departures);
    if (ready->members.empty()) continue;
    if (!slot) slot = host_.TakeSlot(share_, shared_from_this());
    if (slot) return MakeBatch(std::move(ready->members), *slot);
    waits_for_slot_ = true;
    return nullptr;
  }
  return nullptr;
}

Batcher::TimePoint Batcher::WaitEndOf(const BatchDraft& draft) const {
  TimePoint end = delay_.WaitEnd(static_cast<int64_t>(draft.members.size()), draft.oldest, run_free_);
  if (settings_.delay) return end;
  // A wait that nobody asked for costs no answer.
  for (const BatchMemberPtr& member : draft.members) {
    if (member->call.deadline) end = std::min(end, *member->call.deadline - 2 * least_run_time_);
  }
  return end;
}

void Batcher::DropLate(std::vector<BatchMemberPtr>& members, TimePoint now, Departures& departures) {
  std::erase_if(members, [&](const BatchMemberPtr& member) {
    if (!member->call.deadline || *member->call.deadline > now + least_run_time_) return false;
    Depart(member, absl::DeadlineExceededError("the request's deadline comes before a run of the model could end"),
           departures);
    return true;
  });
}

BatchPtr Batcher::MakeBatch(std::vector<BatchMemberPtr> members, const RunSlot& slot) {
  auto batch = std::make_shared<Batch>();
  batch->slot = slot;
  for (const BatchMemberPtr& member : members) {
    waiting_.Remove(member);
    member->state = BatchMember::State::kInBatch;
    member->batch = batch;
  }
  control_.Left(static_cast<int64_t>(members.size()), !waiting_.empty(), slot.since);
  batch->open = members.size();
  batch->members = std::move(members);
  batches_.insert(batch);
  ++runs_;
  host_.WorkBegan();
  return batch;
}

void Batcher::StartReady() {
  while (true) {
    BatchPtr batch;
    Departures departures;
    {
      std::lock_guard lock(mutex_);
      if (!waits_for_slot_) batch = TakeReady(host_.now(), std::nullopt, departures);
    }
    Answer(std::move(departures));
    if (batch == nullptr) return;
    host_.RunElsewhere([self = shared_from_this(), batch = std::move(batch)] { self->RunBatch(batch); });
  }
}

bool Batcher::UseSlot(const RunSlot& slot) {
  BatchPtr batch;
  Departures departures;
  {
    std::lock_guard lock(mutex_);
    waits_for_slot_ = false;
    batch = TakeReady(host_.now(), slot, departures);
  }
  Answer(std::move(departures));
  if (batch == nullptr) return false;
  host_.RunElsewhere([self = shared_from_this(), batch = std::move(batch)] { self->RunBatch(batch); });
  StartReady();
  return true;
}

void Batcher::SetAlarm(TimePoint time) {
  if (!alarm_times_.Add(time)) return;
  host_.CallAt(time, [batcher = weak_from_this(), time] {
    if (const auto self = batcher.lock()) self->OnAlarm(time);
  });
}

// Of a member that waits, or that is in a batch, which goes on without it.
void Batcher::Depart(const BatchMemberPtr& member, absl::Status status, Departures& departures) {
  Departures::One& one = departures.members.emplace_back();
  one.callback = std::move(member->callback);
  one.status = std::move(status);
  if (member->state == BatchMember::State::kWaiting) {
    waiting_.Remove(member);
    one.servable = std::move(member->servable);
    one.call = std::move(member->call);
  } else if (--member->batch->open == 0 && member->batch->run != nullptr) {
    departures.runs.push_back(member->batch->run);
  }
  member->state = BatchMember::State::kAnswered;
  delay_.Left(1, host_.now());
}

void Batcher::Finish(Departures departures) {
  for (const auto& run : departures.runs) run->Cancel();
  StartReady();
  Answer(std::move(departures));
}

void Batcher::Answer(Departures departures) {
  for (Departures::One& one : departures.members) {
    std::exchange(one.callback, nullptr)(std::move(one.status), {.rows = 0, .counts = false});
    one.call = {};
    one.servable = nullptr;
    host_.CallEnded();
  }
}

void Batcher::Expire(TimePoint now, Departures& departures) {
  std::vector<BatchMemberPtr> late, overdue, delayed, rejected;
  for (const BatchMemberPtr& member : waiting_.all()) {
    if (member->call.deadline && *member->call.deadline <= now) {
      late.push_back(member);
    } else if (member->latest <= now) {
      overdue.push_back(member);
    } else if (member->timeout && *member->timeout <= now) {
      (settings_.PolicyOf(member->level).delays ? delayed : rejected).push_back(member);
    }
  }
  for (const BatchPtr& batch : batches_) {
    for (const BatchMemberPtr& member : batch->members) {
      if (member->is_open() && member->call.deadline && *member->call.deadline <= now) late.push_back(member);
    }
  }
  for (const BatchMemberPtr& member : late) {
    Depart(member, absl::DeadlineExceededError("the request's deadline has passed"), departures);
  }
  const auto waited = [](const BatchMember& member) {
    return absl::StrCat("the request waited in the queue of model '", member.servable->name, "' for as long as it may");
  };
  for (const BatchMemberPtr& member : overdue) {
    Depart(member, WithRetryAfter(absl::ResourceExhaustedError(waited(*member)), control_.bound()), departures);
  }
  for (const BatchMemberPtr& member : rejected)
    Depart(member, absl::DeadlineExceededError(waited(*member)), departures);
  for (const BatchMemberPtr& member : delayed) waiting_.Delay(member);
}

void Batcher::OnAlarm(TimePoint time) {
  Departures departures;
  {
    std::lock_guard lock(mutex_);
    alarm_times_.Came(time);
    Expire(host_.now(), departures);
    for (const BatchMemberPtr& member : waiting_.all()) SetAlarm(member->alarm());
    for (const BatchPtr& batch : batches_) {
      for (const BatchMemberPtr& member : batch->members) {
        if (member->is_open() && member->call.deadline) SetAlarm(*member->call.deadline);
      }
    }
  }
  Finish(std::move(departures));
}

void Batcher::Cancel(const BatchMemberPtr& member) {
  Departures departures;
  std::shared_ptr<CallHandle> run;
  {
    std::lock_guard lock(mutex_);
    switch (member->state) {
      case BatchMember::State::kWaiting:
      case BatchMember::State::kInBatch:
        Depart(member, absl::CancelledError("the request was cancelled"), departures);
        break;
      case BatchMember::State::kAlone:
        member->cancelled = true;
        run = member->run;
        break;
      case BatchMember::State::kAnswered:
        break;
    }
  }
  if (run != nullptr) run->Cancel();
  if (!departures.members.empty()) Finish(std::move(departures));
}

}  // namespace hearth::server
