#include "server/repository/warm_up.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/repository/background_run.h"
#include "server/repository/repository_log.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;
using Bounds = BackgroundBounds;

constexpr std::chrono::seconds kMostOfFrequentCall{10};

absl::Status RunOnce(const Servable& servable, const inference::ModelWarmup& sample, const DataFiles& files,
                     const Bounds& bounds, int operator_threads) {
  // Anew for each run: a model may write to its arguments.
  auto bound = BindWithin(bounds.memory, [&] { return servable.call_interface->BindWarmup(sample, files); });
  if (!bound.ok()) return bound.status();
  return RunInBackground(servable, "forward", *std::move(bound), bounds, operator_threads).status();
}

absl::Status RunOnce(const Servable& servable, const FrequentCall& call, const Bounds& bounds, int operator_threads) {
  BoundArguments bound;
  try {
    bound.args = BindWithin(bounds.memory, [&] { return call.make(); });
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(error.what());
  }
  return RunInBackground(servable, call.method, std::move(bound), bounds, operator_threads).status();
}

// How many were run for each number of threads that operators may have.
size_t RunFrequent(const Servable& servable, std::span<const FrequentCall> calls, const Bounds& bounds) {
  size_t done = 0;
  for (const FrequentCall& call : calls) {
    const auto effect = servable.model->SideEffect(call.method);
    if (!effect.ok() || !effect->empty()) continue;
    for (const int threads : servable.model->operator_threads()) {
      const Clock::time_point now = Clock::now();
      if (bounds.stop.stop_requested() || now >= bounds.deadline) return done;
      Bounds own = bounds;
      own.deadline = now + std::min<Clock::duration>(kMostOfFrequentCall, (bounds.deadline - now) / 2);
      const absl::Status status = RunOnce(servable, call, own, threads);
      if (!status.ok()) {
        RepositoryLog().debug("{} version {}: a warm-up call of {} with {} failed: {}", servable.name, servable.version,
                              call.method, call.sizes, std::string(status.message()));
        break;
      }
    }
    ++done;
  }
  return done;
}

// What a call asks for when it runs, and then with what was made of that: the plan for all sizes, that for its own, the
// recording of its runs on a GPU.
constexpr int kSteps = 3;
constexpr std::array kThreadsAsTheyAre = {0};

// Each sample once for each of the numbers of threads that operators then have (CallOptions has it). What fails has not
// failed before, and says nothing about the version.
void RunSamples(const Servable& servable, const DataFiles& files, std::span<const int> operator_threads,
                const Bounds& bounds) {
  for (const inference::ModelWarmup& sample : servable.config.model_warmup()) {
    for (const int threads : operator_threads) {
      if (bounds.stop.stop_requested()) return;
      RunOnce(servable, sample, files, bounds, threads).IgnoreError();
    }
  }
}

enum class Waited { kForNothing, kUntilWarm, kInVain };

Waited WaitUntilWarm(Model& model, const Bounds& bounds) {
  struct State {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool warm = false;
  };
  // Shared, for the callback may still be under way when the wait is over.
  const auto state = std::make_shared<State>();
  const auto wait = model.WhenWarm([state] {
    std::lock_guard lock(state->mutex);
    state->warm = true;
    state->changed.notify_all();
  });
  std::unique_lock lock(state->mutex);
  if (state->warm) return Waited::kForNothing;
  const bool warm = state->changed.wait_until(lock, bounds.stop, bounds.deadline, [&] { return state->warm; });
  return warm ? Waited::kUntilWarm : Waited::kInVain;
}

}  // namespace

absl::Status WarmUp(const Servable& servable, const DataFiles& files, std::span<const FrequentCall> frequent,
                    const WarmUpLimits& limits) {
  const auto& samples = servable.config.model_warmup();
  const Clock::time_point start = Clock::now();
  const auto time = std::min<std::chrono::duration<double>>(limits.time, std::chrono::hours(24 * 365));
  const Clock::time_point deadline =
      time.count() > 0 ? start + std::chrono::duration_cast<Clock::duration>(time) : Clock::time_point::max();
  const Bounds bounds{deadline, limits.memory, limits.stop, limits.in_background};
  for (const inference::ModelWarmup& sample : samples) {
    // The configuration's 0 is what it is if nobody says.
    for (uint32_t run = 0; run < std::max(1U, sample.count()); ++run) {
      const absl::Status status = RunOnce(servable, sample, files, bounds, 0);
      if (status.ok()) continue;
      return {status.code(), absl::StrCat("the warm-up sample '", sample.name(), "' failed: ", status.message())};
    }
  }
  const std::string what = absl::StrCat(servable.name, " version ", servable.version);
  Waited waited = WaitUntilWarm(*servable.model, bounds);
  const bool has_calls = !samples.empty() || !frequent.empty();
  for (int step = 1; step < kSteps && waited != Waited::kInVain && has_calls; ++step) {
    RunSamples(servable, files, kThreadsAsTheyAre, bounds);
    RunFrequent(servable, frequent, bounds);
    const Waited again = WaitUntilWarm(*servable.model, bounds);
    if (again != Waited::kForNothing) waited = again;
  }
  // What libraries prepare at the first use of the plans, for each number of threads that operators may come to have,
  // is better prepared now.
  RunSamples(servable, files, servable.model->operator_threads(), bounds);
  const size_t live = RunFrequent(servable, frequent, bounds);
  if (limits.stop.stop_requested()) return absl::CancelledError("the warm-up was stopped");
  if (waited == Waited::kInVain) {
    RepositoryLog().warn("{}: what it is to be warm for is not compiled after {} s; it serves without", what,
                         limits.time.count());
  } else if (waited == Waited::kUntilWarm || !samples.empty() || live > 0) {
    RepositoryLog().info("{} is warm after {:.3f} s, {} shapes of live calls run", what,
                         std::chrono::duration<double>(Clock::now() - start).count(), live);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
