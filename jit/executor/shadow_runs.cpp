#include "jit/executor/shadow_runs.h"

#include <c10/core/StreamGuard.h>
#include <pthread.h>

#include <exception>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "jit/analysis/argument_spec.h"
#include "jit/device/device.h"
#include "jit/executor/copied_values.h"
#include "jit/executor/random_sample.h"
#include "jit/executor/value_difference.h"
#include "jit/support/background_thread.h"
#include "jit/support/errors.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "jit/support/operator_threads.h"

namespace hearth {
namespace {

spdlog::logger& ShadowLog() {
  static spdlog::logger& log = LoggerOf("executor/shadow_runs");
  return log;
}

}  // namespace

ShadowRuns::ShadowRuns(Settings settings) : settings_(std::move(settings)) {
  thread_.emplace([this] { Work(); });
}

ShadowRuns::~ShadowRuns() { Close(); }

bool ShadowRuns::Draw() {
  if (RandomWord() >= settings_.share * static_cast<double>(std::numeric_limits<uint32_t>::max())) return false;
  return waiting_.load(std::memory_order_relaxed) < settings_.max_waiting;
}

Completion ShadowRuns::Watch(Call call, const std::vector<c10::IValue>& arguments, size_t own, Completion completion) {
  // The check's memory, not the request's.
  const MemoryAccount::Scope nobody(nullptr);
  std::optional<std::vector<c10::IValue>> copies;
  try {
    const c10::OptionalStreamGuard guard(call.stream);
    copies = CopyDeep(std::span(arguments).subspan(own), settings_.max_bytes);
  } catch (const std::exception& error) {
    ShadowLog().warn("the arguments of a call of {} cannot be copied: {}", call.method, error.what());
  }
  if (!copies) return completion;
  auto job = std::make_shared<Job>(Job{std::move(call), {}, own, {}});
  job->arguments.assign(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own));
  std::ranges::move(*copies, std::back_inserter(job->arguments));
  return [this, job = std::move(job), completion = std::move(completion)](c10::IValue value,
                                                                          const std::exception_ptr& error) mutable {
    // What a plan raises is the baseline's own error, told by it.
    if (!error) {
      job->answer = value;
      Enqueue(std::move(job));
    }
    completion(std::move(value), error);
  };
}

void ShadowRuns::Enqueue(std::shared_ptr<Job> job) {
  const MemoryAccount::Scope nobody(nullptr);
  {
    // Not waited for: its owner may have been put aside for others.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || closing_ || queue_.size() >= settings_.max_waiting) return;
    queue_.push_back(std::move(job));
    waiting_.store(queue_.size(), std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void ShadowRuns::Work() {
  pthread_setname_np(pthread_self(), "hearth-shadow");
  TakeLeastPriority();
  UseThisThreadOnly();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    waiting_.store(queue_.size(), std::memory_order_relaxed);
    busy_ = true;
    lock.unlock();
    Check(*job);
    // May be the last that holds the model.
    job.reset();
    TrimStack();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void ShadowRuns::Check(Job& job) {
  std::string arguments;
  std::optional<std::string> difference;
  std::optional<std::vector<c10::IValue>> untouched;  // the arguments, of which the baseline may write some
  try {
    if (job.call.differs) untouched = CopyDeep(std::span(job.arguments).subspan(job.own), settings_.max_bytes);
    if (const auto spec = ArgumentSpec::Of(std::span(job.arguments).subspan(job.own))) arguments = spec->ToString();
    const auto stream = settings_.streams != nullptr ? settings_.streams->Take() : nullptr;
    std::exception_ptr error;
    try {
      // What is compared was made there.
      if (job.call.stream) job.call.stream->synchronize();
      difference = DifferenceOn(stream.get(), job);
    } catch (...) {
      error = std::current_exception();
    }
    // However it ended, work may be under way that uses the copies and the answer. Their memory, once it is freed, goes
    // at once to the next who asks on the stream where they were made, so they are held until then; and so is the
    // stream.
    if (stream != nullptr) stream->synchronize();
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const CancelledError&) {
    return;
  } catch (const std::exception& error) {
    ShadowLog().warn("a call of {}({}) could not be checked: {}", job.call.method, arguments, error.what());
    return;
  }
  runs_.fetch_add(1, std::memory_order_relaxed);
  if (difference->empty()) return;
  differences_.fetch_add(1, std::memory_order_relaxed);
  ShadowLog().error("the plan of {}({}) answers otherwise than the baseline: {}", job.call.method, arguments,
                    *difference);
  if (untouched) Tell(job, *untouched, *difference);
}

void ShadowRuns::Tell(const Job& job, const std::vector<c10::IValue>& arguments, const std::string& difference) {
  const auto run = [&](const std::shared_ptr<const Code>& code) {
    std::vector<c10::IValue> copies(job.arguments.begin(),
                                    job.arguments.begin() + static_cast<std::ptrdiff_t>(job.own));
    std::ranges::move(CopyDeep(arguments, settings_.max_bytes).value(), std::back_inserter(copies));
    RunOptions options;
    options.token = token_;
    options.keep_alive = {job.call.keep_alive};
    return Run(*code, std::move(copies), options);
  };
  const auto replay = [&](const std::shared_ptr<const Code>& code) {
    return ValueDifference(run(job.call.baseline), run(code));
  };
  try {
    job.call.differs({difference, replay});
  } catch (const CancelledError&) {
  } catch (const std::exception& error) {
    ShadowLog().warn("why a call of {} differs is not known: {}", job.call.method, error.what());
  }
}

std::string ShadowRuns::DifferenceOn(const c10::Stream* stream, const Job& job) {
  const c10::OptionalStreamGuard guard(stream != nullptr ? std::optional(*stream) : std::nullopt);
  RunOptions options;
  options.token = token_;
  options.keep_alive = {job.call.keep_alive};
  if (stream != nullptr) options.stream = *stream;
  try {
    return ValueDifference(Run(*job.call.baseline, job.arguments, options), job.answer);
  } catch (const ModelError& error) {
    return std::string("result: the baseline raises ") + error.what();
  }
}

void ShadowRuns::Close() {
  std::deque<std::shared_ptr<Job>> dropped;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    dropped.swap(queue_);
  }
  token_->Cancel();
  changed_.notify_all();
  thread_.reset();
}

void ShadowRuns::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closing_ || (queue_.empty() && !busy_); });
}

}  // namespace hearth
