#include "jit/executor/background_compiler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "jit/executor/processor_budget.h"
#include "jit/support/background_thread.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/errors.h"
#include "jit/support/large_stack.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "jit/support/operator_threads.h"
#include "jit/support/processor_time.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = ProcessorBudget::Seconds;

spdlog::logger& Log() {
  static spdlog::logger& logger = LoggerOf("executor/background_compiler");
  return logger;
}

// How often a job that rests looks whether requests are still served, where somebody waits for it.
constexpr Seconds kLook{0.02};

// Calls what others have asked to be told by. What it throws would end the process, and concerns nobody here.
template <typename... Arguments>
void Tell(const std::function<void(Arguments...)>& told, Arguments... arguments) {
  try {
    if (told) told(arguments...);
  } catch (const std::exception& error) {
    Log().error("somebody who was told of the end of compiling failed: {}", error.what());
  } catch (...) {
    Log().error("somebody who was told of the end of compiling failed");
  }
}

}  // namespace

// Outlives its client while a job runs that ends it. Under the compiler's lock.
struct CompileClient::State {
  size_t jobs = 0;  // taken and not ended
  bool closed = false;
  std::vector<std::shared_ptr<const std::function<void()>>> waits;  // for there to be none; each is one of Impl::waits
};

struct BackgroundCompiler::Impl {
  using Client = std::shared_ptr<CompileClient::State>;
  struct Pending {
    Client client;
    CompileJob job;
    std::shared_ptr<CancellationToken> token = std::make_shared<CancellationToken>();
  };
  class Task;

  explicit Impl(const Settings& wanted) : settings(wanted), budget(wanted.processor_share, Clock::now()) {}

  // Whether the one job of `made` was taken.
  bool Add(std::unique_lock<std::mutex> lock, std::list<Pending> made);
  // What jobs need to run is made when they are asked for: nothing here is left to fail where nobody could be told.
  void Work(int number);
  void RunBest(std::unique_lock<std::mutex>& lock);
  CompileOutcome Run(Task& task);
  // Tells jobs that were not run, and lets them go. Without the lock, which it takes.
  void End(std::list<Pending> jobs, CompileOutcome outcome);
  // One of the client's jobs has ended: tells those who wait for the last. With the lock held, but while it tells them.
  void CountEnd(const Client& client, std::unique_lock<std::mutex>& lock);
  // Charges what the thread has used since `*from`. With the lock held.
  void Charge(Seconds* from);
  // Whether jobs are held to the share. With the lock held.
  bool IsLimited() const { return waits == 0 || (settings.serving && settings.serving()); }
  // How long to stay off the processor, and then ask again. With the lock held.
  Seconds Rest();
  std::atomic<uint64_t>& CounterOf(CompileOutcome outcome) { return outcomes[static_cast<size_t>(outcome)]; }

  const Settings settings;
  std::atomic<size_t> queued{0};
  std::atomic<size_t> running{0};
  std::atomic<uint64_t> outcomes[4] = {};
  std::atomic<uint64_t> busy{0};
  std::atomic<double> processor_seconds{0};
  // Under the lock:
  mutable std::mutex mutex;
  std::condition_variable changed;  // for the compiler's threads
  std::condition_variable ended;    // for those who wait for jobs
  std::list<Pending> queue;         // in the order of arrival
  std::list<Pending> displaced;     // to be told by a compiler's thread, for it was a request that displaced them
  std::vector<Task*> tasks;         // running
  ProcessorBudget budget;
  size_t waits = 0;  // how many wait for a client's last job
  bool closing = false;
  std::vector<std::unique_ptr<LargeStackThread>> threads;
};

// A thread that runs, of whatever priority, is no idle processor to those that share another one, until the kernel
// balances them, after 40 ms or so. A processor that becomes free takes one of them at once.
constexpr Seconds kMostAtOnce{1e-3};
constexpr Seconds kMoment{1e-4};

// A job that runs.
class BackgroundCompiler::Impl::Task final : public CompileProgress {
 public:
  Task(Impl& impl, Pending pending) : impl_(impl), pending_(std::move(pending)) {
    if (impl_.settings.job_memory > 0) account_.emplace(impl_.settings.job_memory);
  }

  void Begin(std::string_view pass) override {
    std::unique_lock lock(impl_.mutex);
    impl_.Charge(&charged_);
    pass_ = pass;
    resting_ = true;
    while (!stopped_) {
      const Seconds rest = impl_.Rest();
      if (rest <= Seconds(0)) break;
      impl_.changed.wait_for(lock, rest);
    }
    resting_ = false;
    if (charged_ - came_back_ >= kMostAtOnce && !stopped_ && impl_.IsLimited()) {
      impl_.changed.wait_for(lock, kMoment);
      came_back_ = charged_;
    }
    const bool stopped = stopped_;
    lock.unlock();
    if (stopped) throw CancelledError(CancelledError::Reason::kCancelled);
    token()->Check();
    if (account_) account_->Check();
    const Seconds limit(impl_.settings.job_seconds);
    if (limit > Seconds(0) && charged_ - began_ > limit) {
      throw std::runtime_error("it took more than " + std::to_string(limit.count()) + " s of a processor");
    }
  }

  const std::shared_ptr<CancellationToken>& token() const override { return pending_.token; }

  void BeginStage(const std::string& name) {
    const std::lock_guard lock(impl_.mutex);
    stage_ = name;
    pass_.clear();
  }

 private:
  friend struct Impl;
  friend class hearth::CompileClient;

  Impl& impl_;
  Pending pending_;
  std::optional<MemoryAccount> account_;
  const Clock::time_point started_ = Clock::now();
  const Seconds began_ = ProcessorTimeOfThread();
  Seconds charged_ = began_;
  Seconds came_back_ = charged_;  // to the processor, on the same clock
  // Under the lock:
  std::string stage_;
  std::string pass_;
  bool resting_ = false;
  bool stopped_ = false;
};

namespace {

// The client whose job runs on this thread.
thread_local const void* client_of_thread = nullptr;

}  // namespace

void BackgroundCompiler::Impl::Work(int number) {
  pthread_setname_np(pthread_self(), ("hearth-comp-" + std::to_string(number)).c_str());
  TakeLeastPriority();
  UseThisThreadOnly();
  std::unique_lock lock(mutex);
  for (;;) {
    if (!displaced.empty()) {
      std::list<Pending> jobs = std::move(displaced);
      displaced.clear();
      lock.unlock();
      End(std::move(jobs), CompileOutcome::kDropped);
      lock.lock();
    } else if (closing) {
      return;
    } else if (queue.empty()) {
      changed.wait(lock);
    } else if (const Seconds rest = Rest(); rest > Seconds(0)) {
      changed.wait_for(lock, rest);
    } else {
      RunBest(lock);
    }
  }
}

bool BackgroundCompiler::Impl::Add(std::unique_lock<std::mutex> lock, std::list<Pending> made) {
  const Client client = made.front().client;
  if (client->closed) return false;
  if (queue.size() >= settings.max_queued) {
    const auto least = std::ranges::min_element(queue, {}, [](const Pending& pending) { return pending.job.worth(); });
    if (least == queue.end() || least->job.worth() >= made.front().job.worth()) {
      ++CounterOf(CompileOutcome::kDropped);
      return false;
    }
    displaced.splice(displaced.end(), queue, least);
    --queued;
  }
  queue.splice(queue.end(), made);
  ++queued;
  ++client->jobs;
  lock.unlock();
  // All, for some may wait for something else.
  changed.notify_all();
  return true;
}

void BackgroundCompiler::Impl::RunBest(std::unique_lock<std::mutex>& lock) {
  const auto best = std::ranges::max_element(queue, {}, [](const Pending& pending) { return pending.job.worth(); });
  Pending pending = std::move(*best);
  queue.erase(best);
  --queued;
  ++running;
  const Client client = pending.client;
  std::optional<Task> task(std::in_place, *this, std::move(pending));
  tasks.push_back(&*task);
  lock.unlock();
  client_of_thread = client.get();
  const CompileOutcome outcome = Run(*task);
  lock.lock();
  Charge(&task->charged_);
  std::erase(tasks, &*task);
  --running;
  ++CounterOf(outcome);
  lock.unlock();
  Tell(task->pending_.job.ended, outcome);
  // What the job held goes before anybody is told that it has ended.
  task.reset();
  client_of_thread = nullptr;
  // Steps between a model's weights and those of a plan are several times as large as these.
  ReturnFreedMemoryOfThread();
  TrimStack();
  lock.lock();
  CountEnd(client, lock);
}

void BackgroundCompiler::Impl::CountEnd(const Client& client, std::unique_lock<std::mutex>& lock) {
  --client->jobs;
  ended.notify_all();
  if (client->jobs > 0 || client->waits.empty()) return;
  const auto told = std::exchange(client->waits, {});
  waits -= told.size();
  lock.unlock();
  for (const auto& done : told) Tell(*done);
  lock.lock();
}

CompileOutcome BackgroundCompiler::Impl::Run(Task& task) {
  const CompileJob& job = task.pending_.job;
  const auto fail = [&](std::string_view message) {
    Log().error("compiling {} failed in {} ({}): {}", job.graph, task.stage_,
                task.pass_.empty() ? "no pass yet" : task.pass_, message);
    return CompileOutcome::kFailed;
  };
  try {
    const MemoryAccount::Scope scope(task.account_ ? &*task.account_ : nullptr);
    for (const CompileJob::Stage& stage : job.stages) {
      task.BeginStage(stage.name);
      stage.run(task);
    }
    return CompileOutcome::kDone;
  } catch (const CancelledError& error) {
    // A deadline that the job gave itself is its own failure.
    return task.token()->cancelled() ? CompileOutcome::kCancelled : fail(error.what());
  } catch (const std::exception& error) {
    return fail(error.what());
  } catch (...) {
    return fail("an exception of unknown type");
  }
}

void BackgroundCompiler::Impl::End(std::list<Pending> jobs, CompileOutcome outcome) {
  while (!jobs.empty()) {
    const Client client = jobs.front().client;
    Tell(jobs.front().job.ended, outcome);
    jobs.pop_front();
    std::unique_lock lock(mutex);
    ++CounterOf(outcome);
    CountEnd(client, lock);
  }
}

Seconds BackgroundCompiler::Impl::Rest() {
  if (!IsLimited()) return Seconds(0);
  const Seconds rest = budget.Rest(Clock::now());
  return waits == 0 ? rest : std::min(rest, kLook);
}

void BackgroundCompiler::Impl::Charge(Seconds* from) {
  const Seconds now = ProcessorTimeOfThread();
  const Seconds used = now - std::exchange(*from, now);
  processor_seconds.store(processor_seconds.load(std::memory_order_relaxed) + used.count(), std::memory_order_relaxed);
  if (IsLimited()) budget.Charge(used, Clock::now());
}

BackgroundCompiler::BackgroundCompiler(const Settings& settings) : impl_(std::make_unique<Impl>(settings)) {
  impl_->tasks.reserve(static_cast<size_t>(settings.threads));
  for (int i = 0; i < settings.threads; ++i) {
    impl_->threads.push_back(std::make_unique<LargeStackThread>([impl = impl_.get(), i] { impl->Work(i); }));
  }
}

BackgroundCompiler::~BackgroundCompiler() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->closing = true;
  }
  impl_->changed.notify_all();
  impl_->threads.clear();
}

BackgroundCompiler::Counters BackgroundCompiler::counters() const {
  return {impl_->queued,
          impl_->running,
          impl_->CounterOf(CompileOutcome::kDone),
          impl_->CounterOf(CompileOutcome::kFailed),
          impl_->CounterOf(CompileOutcome::kCancelled),
          impl_->CounterOf(CompileOutcome::kDropped),
          impl_->busy,
          impl_->processor_seconds};
}

CompileClient::CompileClient(const std::shared_ptr<BackgroundCompiler>& compiler)
    : compiler_(compiler), state_(std::make_shared<State>()) {}

CompileClient::~CompileClient() { Cancel(); }

bool CompileClient::TryEnqueue(CompileJob job) {
  BackgroundCompiler::Impl& impl = *compiler_->impl_;
  std::list<BackgroundCompiler::Impl::Pending> made;
  made.push_back({state_, std::move(job)});
  std::unique_lock lock(impl.mutex, std::try_to_lock);
  if (!lock.owns_lock()) {
    impl.busy.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return impl.Add(std::move(lock), std::move(made));
}

bool CompileClient::Enqueue(CompileJob job) {
  BackgroundCompiler::Impl& impl = *compiler_->impl_;
  std::list<BackgroundCompiler::Impl::Pending> made;
  made.push_back({state_, std::move(job)});
  return impl.Add(std::unique_lock(impl.mutex), std::move(made));
}

void CompileClient::Cancel() {
  BackgroundCompiler::Impl& impl = *compiler_->impl_;
  std::list<BackgroundCompiler::Impl::Pending> jobs;
  std::vector<std::shared_ptr<CancellationToken>> tokens;
  {
    std::lock_guard lock(impl.mutex);
    state_->closed = true;
    for (auto* list : {&impl.queue, &impl.displaced}) {
      for (auto it = list->begin(); it != list->end();) {
        const auto pending = it++;
        if (pending->client == state_) jobs.splice(jobs.end(), *list, pending);
      }
    }
    impl.queued = impl.queue.size();
    for (auto* task : impl.tasks) {
      if (task->pending_.client != state_) continue;
      task->stopped_ = true;
      tokens.push_back(task->token());
    }
  }
  impl.changed.notify_all();
  for (const auto& token : tokens) token->Cancel();
  impl.End(std::move(jobs), CompileOutcome::kCancelled);
  const size_t own = client_of_thread == state_.get() ? 1 : 0;
  std::unique_lock lock(impl.mutex);
  impl.ended.wait(lock, [&] { return state_->jobs <= own; });
}

bool CompileClient::WaitUntilIdle(Clock::time_point deadline) const {
  BackgroundCompiler::Impl& impl = *compiler_->impl_;
  std::unique_lock lock(impl.mutex);
  if (state_->jobs == 0) return true;
  ++impl.waits;
  impl.changed.notify_all();
  const bool idle = impl.ended.wait_until(lock, deadline, [&] { return state_->jobs == 0; });
  --impl.waits;
  return idle;
}

std::shared_ptr<const void> CompileClient::WhenIdle(std::function<void()> done) {
  BackgroundCompiler::Impl& impl = *compiler_->impl_;
  const auto wait = std::make_shared<const std::function<void()>>(std::move(done));
  std::unique_lock lock(impl.mutex);
  if (state_->jobs == 0) {
    lock.unlock();
    (*wait)();
    return nullptr;
  }
  state_->waits.push_back(wait);
  ++impl.waits;
  lock.unlock();
  impl.changed.notify_all();
  return {wait.get(), [compiler = compiler_, state = state_, wait](const void*) {
            std::lock_guard lock(compiler->impl_->mutex);
            if (std::erase(state->waits, wait) > 0) --compiler->impl_->waits;
          }};
}

std::vector<BackgroundCompiler::Running> CompileClient::running() const {
  const BackgroundCompiler::Impl& impl = *compiler_->impl_;
  std::lock_guard lock(impl.mutex);
  std::vector<BackgroundCompiler::Running> running;
  for (const auto* task : impl.tasks) {
    if (task->pending_.client != state_) continue;
    running.push_back(
        {task->pending_.job.graph, task->stage_, task->pass_, Clock::now() - task->started_, task->resting_});
  }
  return running;
}

}  // namespace hearth
