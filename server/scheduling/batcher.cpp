#include "server/scheduling/batcher.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "server/scheduling/retry_advice.h"

namespace hearth::server {
namespace {

using TimePoint = Batcher::TimePoint;

// The least time of a run grows by so much of it with each that takes longer.
constexpr int kForgetsLeastTime = 16;

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("scheduling/batcher");
  return log;
}

// And the largest itself.
std::vector<int64_t> PowersOfTwo(int64_t largest) {
  std::vector<int64_t> powers;
  for (int64_t power = 1; power < largest; power *= 2) powers.push_back(power);
  powers.push_back(largest);
  return powers;
}

}  // namespace

struct Batcher::Member {
  enum class State : uint8_t { kWaiting, kInBatch, kAlone, kAnswered };

  ServablePtr servable;
  DispatchedCall call;
  DispatchCallback callback;
  BatchKey key;  // without rows: in no batch
  int64_t level = 1;
  bool delayed = false;
  uint64_t number = 0;
  TimePoint arrived;
  std::optional<TimePoint> timeout;     // of waiting, by the level's policy
  TimePoint latest = TimePoint::max();  // that the queue's bound lets it wait until

  State state = State::kWaiting;
  BatchPtr batch;
  std::shared_ptr<CallHandle> run;  // of the member alone
  bool cancelled = false;

  Place place() const { return {level, delayed, number}; }
  bool is_open() const { return state == State::kInBatch; }
  // When something is to be done about it while it waits.
  TimePoint alarm() const {
    return std::min({latest, timeout.value_or(TimePoint::max()), call.deadline.value_or(TimePoint::max())});
  }
};

struct Batcher::Batch {
  RunSlot slot;
  std::vector<MemberPtr> members;
  size_t open = 0;                  // members that wait for the run of all
  int64_t padding = 0;              // rows of that run that are nobody's
  std::shared_ptr<CallHandle> run;  // of all
  unsigned tier = 0;                // that the run began in
  // Where the run is profiled:
  std::shared_ptr<CallReport> report;
  TimePoint began;

  // Of its members; 0 for a call that is in no batch.
  int64_t rows() const {
    int64_t rows = 0;
    for (const MemberPtr& member : members) rows += member->key.rows;
    return rows;
  }
};

// What may become a batch: members that fit each other, in their order.
struct Batcher::Draft {
  std::vector<MemberPtr> members;
  int64_t rows = 0;
  size_t preferred = 0;  // so many members have a preferred number of rows; 0: there is none
  bool full = false;     // no other may join
  TimePoint oldest = TimePoint::max();
};

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
  Handle(std::weak_ptr<Batcher> batcher, MemberPtr member) : batcher_(std::move(batcher)), member_(std::move(member)) {}
  void Cancel() override {
    if (const auto batcher = batcher_.lock()) batcher->Cancel(member_);
  }

 private:
  const std::weak_ptr<Batcher> batcher_;
  const MemberPtr member_;
};

Batcher::Batcher(const QueueSettings& settings, ModelShare& share, BatcherHost& host)
    : settings_(settings),
      share_(share),
      host_(host),
      allowed_(
          settings.allowed.value_or(host.pads_batches() ? PowersOfTwo(settings.max_rows) : std::vector<int64_t>())),
      waiting_of_level_(settings.levels.size()),
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
  const int64_t level = settings_.LevelOf(call.queue ? call.queue->priority : 0);
  {
    std::unique_lock lock(mutex_);
    std::optional<RunSlot> slot;
    const bool is_free = waiting_.empty() && settings_.delay.count() == 0 && runs_ < MostRuns();
    if (is_free && (!call.queue || PaddingOf(call.rows) == 0)) slot = host_.TakeSlot(share_, nullptr);
    if (slot) {
      ++runs_;
      lock.unlock();
      return host_.RunCall(servable, std::move(call),
                           [this, slot = *slot, callback = std::move(callback)](absl::StatusOr<c10::IValue> answer,
                                                                                const Execution& execution) {
                             if (!settings_.keeps_order) FreeRun(slot, nullptr);
                             callback(std::move(answer), execution);
                             if (settings_.keeps_order) FreeRun(slot, nullptr);
                           });
    }
  }
  MemberPtr member = NewMember(servable, std::move(call), std::move(callback), level);
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) control_.FoundEmpty(member->arrived);
    if (absl::Status status = CheckRoom(*member); !status.ok()) return WithAdvice(std::move(status));
    member->number = next_number_++;
    waiting_.emplace(member->place(), member);
    ++waiting_of_level_[level - 1];
    SetAlarm(member->alarm());
  }
  StartReady();
  return std::make_shared<Handle>(weak_from_this(), std::move(member));
}

absl::Status Batcher::CheckRoom(const Member& member) const {
  const int64_t level = member.level;
  const std::string& model = member.servable->name;
  const int64_t most = settings_.PolicyOf(level).max_waiting;
  if (most > 0 && waiting_of_level_[level - 1] >= most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue of model '", model, "' is full: ", most,
                     settings_.has_levels() ? absl::StrCat(" requests of priority ", level) : " requests",
                     " wait, which is its bound"));
  }
  const int64_t ahead = std::accumulate(waiting_of_level_.begin(), waiting_of_level_.begin() + level, int64_t{0});
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

Batcher::MemberPtr Batcher::NewMember(const ServablePtr& servable, DispatchedCall call, DispatchCallback callback,
                                      int64_t level) {
  auto member = std::make_shared<Member>();
  member->level = level;
  member->arrived = host_.now();
  const QueueSettings::Policy& policy = settings_.PolicyOf(level);
  std::chrono::microseconds timeout = policy.timeout;
  if (policy.may_shorten && call.queue && call.queue->timeout &&
      (timeout.count() == 0 || *call.queue->timeout < timeout)) {
    timeout = *call.queue->timeout;
  }
  if (timeout.count() > 0) member->timeout = member->arrived + timeout;
  if (control_.bound().count() > 0) member->latest = member->arrived + control_.bound();
  if (settings_.batches() && call.queue && wrong_answers_ < kMostWrongAnswers && !call.answer_stays_on_device) {
    if (auto key = BatchKeyOf(call.arguments); key && key->rows <= settings_.max_rows) member->key = *std::move(key);
  }
  member->servable = servable;
  member->call = std::move(call);
  member->callback = std::move(callback);
  return member;
}

void Batcher::Remove(const MemberPtr& member) {
  waiting_.erase(member->place());
  --waiting_of_level_[member->level - 1];
}

std::vector<Batcher::Draft> Batcher::DraftBatches() {
  std::vector<Draft> drafts;
  absl::flat_hash_map<std::string_view, size_t> known;
  for (const auto& [place, member] : waiting_) {
    const bool alone = member->key.rows == 0;
    const int64_t rows = alone ? settings_.max_rows : member->key.rows;
    const auto found = alone ? known.end() : known.find(member->key.text);
    const bool is_new = found == known.end();
    const size_t index = is_new ? drafts.size() : found->second;
    if (is_new && settings_.keeps_order && !drafts.empty()) {
      drafts.front().full = true;
      break;
    }
    if (is_new) drafts.emplace_back();
    if (is_new && !alone) known.emplace(member->key.text, index);
    Draft& draft = drafts[index];
    if (draft.full) continue;
    if (draft.rows + rows > settings_.max_rows) {
      draft.full = true;
    } else {
      draft.members.push_back(member);
      draft.rows += rows;
      draft.oldest = std::min(draft.oldest, member->arrived);
      draft.full = draft.rows == settings_.max_rows;
      if (std::ranges::binary_search(settings_.preferred, draft.rows)) draft.preferred = draft.members.size();
    }
    // Whatever comes behind it changes nothing.
    if (drafts.front().full) break;
  }
  return drafts;
}

Batcher::BatchPtr Batcher::TakeReady(TimePoint now, std::optional<RunSlot> slot, Departures& departures) {
  while (!waiting_.empty() && runs_ < MostRuns()) {
    std::vector<Draft> drafts = DraftBatches();
    const auto ready = std::ranges::find_if(drafts, [&](const Draft& draft) {
      const TimePoint due = draft.oldest + settings_.delay;
      if (draft.full || draft.preferred > 0 || due <= now) return true;
      SetAlarm(due);
      return false;
    });
    if (ready == drafts.end()) return nullptr;
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

void Batcher::DropLate(std::vector<MemberPtr>& members, TimePoint now, Departures& departures) {
  std::erase_if(members, [&](const MemberPtr& member) {
    if (!member->call.deadline || *member->call.deadline > now + least_run_time_) return false;
    Depart(member, absl::DeadlineExceededError("the request's deadline comes before a run of the model could end"),
           departures);
    return true;
  });
}

Batcher::BatchPtr Batcher::MakeBatch(std::vector<MemberPtr> members, const RunSlot& slot) {
  auto batch = std::make_shared<Batch>();
  batch->slot = slot;
  for (const MemberPtr& member : members) {
    Remove(member);
    member->state = Member::State::kInBatch;
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
  if (time >= alarm_) return;
  alarm_ = time;
  host_.CallAt(time, [batcher = weak_from_this()] {
    if (const auto self = batcher.lock()) self->OnAlarm();
  });
}

// Of a member that waits, or that is in a batch, which goes on without it.
void Batcher::Depart(const MemberPtr& member, absl::Status status, Departures& departures) {
  Departures::One& one = departures.members.emplace_back();
  one.callback = std::move(member->callback);
  one.status = std::move(status);
  if (member->state == Member::State::kWaiting) {
    Remove(member);
    one.servable = std::move(member->servable);
    one.call = std::move(member->call);
  } else if (--member->batch->open == 0 && member->batch->run != nullptr) {
    departures.runs.push_back(member->batch->run);
  }
  member->state = Member::State::kAnswered;
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
  std::vector<MemberPtr> late, overdue, delayed, rejected;
  for (const auto& [place, member] : waiting_) {
    if (member->call.deadline && *member->call.deadline <= now) {
      late.push_back(member);
    } else if (member->latest <= now) {
      overdue.push_back(member);
    } else if (member->timeout && *member->timeout <= now) {
      (settings_.PolicyOf(member->level).delays ? delayed : rejected).push_back(member);
    }
  }
  for (const BatchPtr& batch : batches_) {
    for (const MemberPtr& member : batch->members) {
      if (member->is_open() && member->call.deadline && *member->call.deadline <= now) late.push_back(member);
    }
  }
  for (const MemberPtr& member : late) {
    Depart(member, absl::DeadlineExceededError("the request's deadline has passed"), departures);
  }
  const auto waited = [](const Member& member) {
    return absl::StrCat("the request waited in the queue of model '", member.servable->name, "' for as long as it may");
  };
  for (const MemberPtr& member : overdue) {
    Depart(member, WithRetryAfter(absl::ResourceExhaustedError(waited(*member)), control_.bound()), departures);
  }
  for (const MemberPtr& member : rejected) Depart(member, absl::DeadlineExceededError(waited(*member)), departures);
  for (const MemberPtr& member : delayed) {
    waiting_.erase(member->place());
    member->delayed = true;
    member->timeout.reset();
    waiting_.emplace(member->place(), member);
  }
}

void Batcher::OnAlarm() {
  Departures departures;
  {
    std::lock_guard lock(mutex_);
    alarm_ = TimePoint::max();
    Expire(host_.now(), departures);
    for (const auto& [place, member] : waiting_) SetAlarm(member->alarm());
    for (const BatchPtr& batch : batches_) {
      for (const MemberPtr& member : batch->members) {
        if (member->is_open() && member->call.deadline) SetAlarm(*member->call.deadline);
      }
    }
  }
  Finish(std::move(departures));
}

void Batcher::Cancel(const MemberPtr& member) {
  Departures departures;
  std::shared_ptr<CallHandle> run;
  {
    std::lock_guard lock(mutex_);
    switch (member->state) {
      case Member::State::kWaiting:
      case Member::State::kInBatch:
        Depart(member, absl::CancelledError("the request was cancelled"), departures);
        break;
      case Member::State::kAlone:
        member->cancelled = true;
        run = member->run;
        break;
      case Member::State::kAnswered:
        break;
    }
  }
  if (run != nullptr) run->Cancel();
  if (!departures.members.empty()) Finish(std::move(departures));
}

void Batcher::RunBatch(const BatchPtr& batch) {
  bool together = false;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(batch->members, [](const MemberPtr& member) { return !member->is_open(); });
    batch->padding = PaddingOf(batch->rows());
    together = batch->members.size() > 1 || batch->padding > 0;
    // They stop waiting: what follows is work for them. A call that is run by itself is told by its run.
    for (const MemberPtr& member : batch->members) {
      if (!together) break;
      member->servable->statistics->Began();
      if (member->call.on_start) member->call.on_start();
      member->call.has_begun = true;
    }
  }
  if (together) return RunTogether(batch);
  RunMember(batch, 0);
}

void Batcher::RunTogether(const BatchPtr& batch) {
  Model& model = *batch->members.front()->servable->model;
  std::vector<const CallArguments*> calls;
  std::optional<TimePoint> deadline = TimePoint::min();
  for (const MemberPtr& member : batch->members) {
    calls.push_back(&member->call.arguments);
    if (!member->call.deadline) deadline.reset();
    if (deadline) deadline = std::max(*deadline, *member->call.deadline);
  }
  CallOptions options;
  options.deadline = deadline;
  options.memory = model.NewAccount(static_cast<int64_t>(calls.size()) + batch->padding);
  options.may_run_here = true;
  options.tier = &batch->tier;
  options.report = batch->report = batch->members.front()->servable->profiler.Take();
  if (batch->report != nullptr) options.on_start = [this, batch] { batch->began = host_.now(); };
  CallArguments arguments;
  try {
    const MemoryAccount::Scope counting(options.memory.get());
    arguments = Concatenate(calls, batch->padding);
  } catch (const MemoryLimitError& error) {
    return RunOneByOne(batch, BatchFailure::kMemory,
                       absl::ResourceExhaustedError(absl::StrCat("making a batch ", error.what())));
  } catch (const std::exception& error) {
    return RunOneByOne(batch, BatchFailure::kRaised, absl::InternalError(error.what()));
  }
  auto run = model.CallAsync(batch->members.front()->call.method, std::move(arguments.args),
                             std::move(arguments.kwargs), std::move(options),
                             [this, batch](absl::StatusOr<c10::IValue> answer) { OnAnswer(batch, std::move(answer)); });
  std::unique_lock lock(mutex_);
  // It may have ended, and with it the batch.
  if (batch->members.empty()) return;
  batch->run = run;
  const bool cancel = batch->open == 0;
  lock.unlock();
  if (cancel) run->Cancel();
}

void Batcher::OnAnswer(const BatchPtr& batch, absl::StatusOr<c10::IValue> answer) {
  const auto self = shared_from_this();
  if (batch->report != nullptr) {
    batch->members.front()->servable->profiler.Add({batch->report, batch->began, host_.now()});
  }
  const absl::StatusCode code = answer.status().code();
  const bool late = code == absl::StatusCode::kDeadlineExceeded;
  const bool stopped = code == absl::StatusCode::kCancelled || late;
  std::vector<int64_t> rows;
  for (const MemberPtr& member : batch->members) rows.push_back(member->key.rows);
  std::optional<std::vector<c10::IValue>> parts;
  if (answer.ok()) {
    parts = Split(*answer, rows, batch->padding);
    *answer = c10::IValue();
    if (!parts) return RunOneByOne(batch, BatchFailure::kRows, absl::OkStatus());
  } else if (late && SomebodyHasTime(batch)) {
    return RunOneByOne(batch, BatchFailure::kTime, answer.status());
  } else if (!stopped) {
    const bool memory = code == absl::StatusCode::kResourceExhausted;
    return RunOneByOne(batch, memory ? BatchFailure::kMemory : BatchFailure::kRaised, answer.status());
  }

  if (!settings_.keeps_order) FreeRun(batch->slot, batch);
  std::vector<std::pair<size_t, DispatchCallback>> open;
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < batch->members.size(); ++i) {
      Member& member = *batch->members[i];
      if (!member.is_open()) continue;
      member.state = Member::State::kAnswered;
      open.emplace_back(i, std::move(member.callback));
    }
  }
  if (parts) batch->members.front()->servable->statistics->Padded(static_cast<uint64_t>(batch->padding));
  Execution execution{.rows = batch->rows(), .counts = true, .tier = batch->tier};
  for (auto& [i, callback] : open) {
    if (parts) {
      std::exchange(callback, nullptr)(std::move((*parts)[i]), execution);
    } else {
      std::exchange(callback, nullptr)(answer.status(), execution);
    }
    execution.counts = false;
    host_.CallEnded();
  }
  if (settings_.keeps_order) FreeRun(batch->slot, batch);
  End(batch);
}

bool Batcher::SomebodyHasTime(const BatchPtr& batch) {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(batch->members, [now = host_.now()](const MemberPtr& member) {
    return member->is_open() && member->call.deadline.value_or(TimePoint::max()) > now;
  });
}

void Batcher::RunOneByOne(const BatchPtr& batch, BatchFailure why, const absl::Status& status) {
  const Servable& servable = *batch->members.front()->servable;
  servable.statistics->BatchFailed(why);
  if (why == BatchFailure::kRows) {
    const int wrong = ++wrong_answers_;
    if (wrong == 1) {
      Log().error(
          "model {} version {}: a batch's answer has not the rows of the batch in each tensor, so max_batch_size does "
          "not hold for it; its requests are run one by one",
          servable.name, servable.version);
    } else if (wrong == kMostWrongAnswers) {
      Log().error("model {} version {}: its requests are not batched any more", servable.name, servable.version);
    }
  } else {
    Log().debug("model {} version {}: a batch of {} requests failed and they are run one by one: {}", servable.name,
                servable.version, batch->members.size(), std::string(status.message()));
  }
  RunMember(batch, 0);
}

void Batcher::RunMember(const BatchPtr& batch, size_t index) {
  MemberPtr member;
  bool last = true;
  {
    std::lock_guard lock(mutex_);
    while (index < batch->members.size() && !batch->members[index]->is_open()) ++index;
    if (index < batch->members.size()) {
      member = batch->members[index];
      member->state = Member::State::kAlone;
      last = --batch->open == 0;
    }
  }
  if (member == nullptr) {
    FreeRun(batch->slot, batch);
    return End(batch);
  }
  // Whose thread it was that brought it waits no more.
  member->call.caller = CallerThread::kOneOfMany;
  auto run = host_.RunCall(
      member->servable, std::move(member->call),
      [this, batch, index, last, callback = std::move(member->callback)](absl::StatusOr<c10::IValue> answer,
                                                                         const Execution& execution) {
        // Nobody joins a batch that has begun, but others may leave it.
        if (last && !settings_.keeps_order) FreeRun(batch->slot, batch);
        callback(std::move(answer), execution);
        if (last && settings_.keeps_order) FreeRun(batch->slot, batch);
        if (last) return End(batch);
        host_.RunElsewhere([self = shared_from_this(), batch, index] { self->RunMember(batch, index + 1); });
      });
  std::unique_lock lock(mutex_);
  member->run = run;
  const bool cancel = member->cancelled;
  lock.unlock();
  if (cancel) run->Cancel();
}

// Of the batch, or of a call that was run at once.
void Batcher::FreeRun(const RunSlot& slot, const BatchPtr& batch) {
  {
    std::lock_guard lock(mutex_);
    --runs_;
    batches_.erase(batch);
    const std::chrono::nanoseconds time = host_.now() - slot.since;
    const auto before = least_run_time_;
    least_run_time_ = before.count() == 0 ? time : std::min(time, before + before / kForgetsLeastTime);
  }
  // Before others are given it, this queue waits for it as they do.
  StartReady();
  host_.FreeSlot(slot);
}

// The last that happens to a batch. It may let go of the version, which has this.
void Batcher::End(const BatchPtr& batch) {
  const auto self = shared_from_this();
  std::vector<MemberPtr> members;
  std::vector<ServablePtr> servables;
  {
    std::lock_guard lock(mutex_);
    members.swap(batch->members);
    for (const MemberPtr& member : members) {
      // Handles may live on, and with them members.
      servables.push_back(std::move(member->servable));
      member->batch = nullptr;
    }
  }
  members.clear();
  servables.clear();
  host_.WorkEnded();
}

}  // namespace hearth::server
