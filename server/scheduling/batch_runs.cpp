// Runs of batches: their arguments put together and their answers taken apart, and one by one where that fails.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "server/scheduling/batcher.h"
#include "server/scheduling/padded_values.h"

namespace hearth::server {
namespace {

// The least time of a run grows by so much of it with each that takes longer.
constexpr int kForgetsLeastTime = 16;

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("scheduling/batcher");
  return log;
}

}  // namespace

void Batcher::RunBatch(const BatchPtr& batch) {
  bool together = false;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(batch->members, [](const BatchMemberPtr& member) { return !member->is_open(); });
    batch->padding = PaddingOf(batch->rows());
    const bool pads_lengths = FindLengths(*batch);
    together = batch->members.size() > 1 || batch->padding > 0 || pads_lengths;
    // They stop waiting: what follows is work for them. A call that is run by itself is told by its run.
    for (const BatchMemberPtr& member : batch->members) {
      if (!together) break;
      if (!member->call.is_split_part) member->servable->statistics->Began();
      if (member->call.on_start) member->call.on_start();
      member->call.has_begun = true;
    }
  }
  if (together) return RunTogether(batch);
  RunMember(batch, 0);
}

// To the longest, and to a multiple if that is asked for. Whether one of the members is shorter.
bool Batcher::FindLengths(Batch& batch) const {
  batch.lengths.assign(settings_.padding.inputs.size(), 0);
  if (batch.lengths.empty() || batch.rows() == 0) return false;
  const int64_t multiple = settings_.padding.multiple;
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    for (const BatchMemberPtr& member : batch.members)
      batch.lengths[i] = std::max(batch.lengths[i], member->key.lengths[i]);
    batch.lengths[i] = (batch.lengths[i] + multiple - 1) / multiple * multiple;
  }
  return std::ranges::any_of(batch.members,
                             [&](const BatchMemberPtr& member) { return member->key.lengths != batch.lengths; });
}

void Batcher::RunTogether(const BatchPtr& batch) {
  Model& model = *batch->members.front()->servable->model;
  std::vector<const CallArguments*> calls;
  std::optional<TimePoint> deadline = TimePoint::min();
  for (const BatchMemberPtr& member : batch->members) {
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
    const NewLockedTensor make = [&model](c10::IntArrayRef sizes, c10::ScalarType dtype) {
      return model.NewLockedArgument(sizes, dtype);
    };
    arguments = Concatenate(calls, batch->padding, make, settings_.padding, batch->lengths);
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
  for (const BatchMemberPtr& member : batch->members) rows.push_back(member->key.rows);
  std::optional<std::vector<c10::IValue>> parts;
  if (answer.ok()) {
    parts = Split(*answer, rows, batch->padding);
    *answer = c10::IValue();
    for (size_t i = 0; parts && i < parts->size(); ++i) {
      const std::vector<int64_t>& own = batch->members[i]->key.lengths;
      if (!own.empty() && !Trim((*parts)[i], settings_.padding, own, batch->lengths)) parts.reset();
    }
    if (!parts) return RunOneByOne(batch, BatchFailure::kRows, absl::OkStatus());
  } else if (late && SomebodyHasTime(batch)) {
    return RunOneByOne(batch, BatchFailure::kTime, answer.status());
  } else if (!stopped) {
    const bool memory = code == absl::StatusCode::kResourceExhausted;
    return RunOneByOne(batch, memory ? BatchFailure::kMemory : BatchFailure::kRaised, answer.status());
  }

  std::vector<std::pair<size_t, DispatchCallback>> open;
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < batch->members.size(); ++i) {
      BatchMember& member = *batch->members[i];
      if (!member.is_open()) continue;
      member.state = BatchMember::State::kAnswered;
      open.emplace_back(i, std::move(member.callback));
    }
  }
  Answered(static_cast<int64_t>(open.size()), parts ? batch->rows() + batch->padding : 0, batch->slot);
  if (!settings_.keeps_order) FreeRun(batch->slot, batch);
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
  return std::ranges::any_of(batch->members, [now = host_.now()](const BatchMemberPtr& member) {
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
          "model {} version {}: a batch's answer has not the rows of the batch in each tensor, or not the lengths that "
          "trim_outputs says, so max_batch_size does not hold for it; its requests are run one by one",
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
  BatchMemberPtr member;
  bool last = true;
  {
    std::lock_guard lock(mutex_);
    while (index < batch->members.size() && !batch->members[index]->is_open()) ++index;
    if (index < batch->members.size()) {
      member = batch->members[index];
      member->state = BatchMember::State::kAlone;
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
        Answered(1, answer.ok() && batch->members.size() == 1 ? execution.rows : 0, batch->slot);
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

void Batcher::Answered(int64_t calls, int64_t rows, const RunSlot& slot) {
  std::lock_guard lock(mutex_);
  const TimePoint now = host_.now();
  if (rows > 0) delay_.Ran(rows, now - slot.since);
  delay_.Left(calls, now);
}

// Of the batch, or of a call that was run at once.
void Batcher::FreeRun(const RunSlot& slot, const BatchPtr& batch) {
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = host_.now();
    if (runs_-- >= MostRuns()) run_free_ = now;
    batches_.erase(batch);
    const std::chrono::nanoseconds time = now - slot.since;
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
  std::vector<BatchMemberPtr> members;
  std::vector<ServablePtr> servables;
  {
    std::lock_guard lock(mutex_);
    members.swap(batch->members);
    for (const BatchMemberPtr& member : members) {
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
