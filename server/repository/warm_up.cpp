#include "server/repository/warm_up.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("repository");
  return log;
}

// `operator_threads` as CallOptions has it.
absl::Status RunOnce(const Servable& servable, const inference::ModelWarmup& sample, Clock::time_point deadline,
                     int operator_threads) {
  // Anew for each run: a model may write to its arguments.
  auto bound = servable.call_interface->BindWarmup(sample);
  if (!bound.ok()) return bound.status();
  CallOptions options;
  options.deadline = deadline;
  options.is_warmup = true;
  options.operator_threads = operator_threads;
  return servable.model->Call("forward", std::move(bound->args), std::move(bound->kwargs), options).status();
}

// What libraries prepare at the first use of the plans, for each number of threads that operators may come to have, is
// better prepared now. What fails has not failed before, and says nothing about the version.
void UsePlans(const Servable& servable, Clock::time_point deadline) {
  for (const inference::ModelWarmup& sample : servable.config.model_warmup()) {
    for (const int threads : servable.model->operator_threads()) {
      RunOnce(servable, sample, deadline, threads).IgnoreError();
    }
  }
}

enum class Waited { kForNothing, kUntilWarm, kInVain };

Waited WaitUntilWarm(Model& model, Clock::time_point deadline) {
  // Shared, for the callback may still be under way when the wait is over.
  const auto promise = std::make_shared<std::promise<void>>();
  const std::future<void> warm = promise->get_future();
  const auto wait = model.WhenWarm([promise] { promise->set_value(); });
  if (warm.wait_for(Clock::duration(0)) == std::future_status::ready) return Waited::kForNothing;
  return warm.wait_until(deadline) == std::future_status::ready ? Waited::kUntilWarm : Waited::kInVain;
}

}  // namespace

absl::Status WarmUp(const Servable& servable, std::chrono::duration<double> limit) {
  const auto& samples = servable.config.model_warmup();
  const Clock::time_point start = Clock::now();
  const auto time = std::min<std::chrono::duration<double>>(limit, std::chrono::hours(24 * 365));
  const Clock::time_point deadline =
      limit.count() > 0 ? start + std::chrono::duration_cast<Clock::duration>(time) : Clock::time_point::max();
  for (const inference::ModelWarmup& sample : samples) {
    // The configuration's 0 is what it is if nobody says.
    for (uint32_t run = 0; run < std::max(1U, sample.count()); ++run) {
      const absl::Status status = RunOnce(servable, sample, deadline, 0);
      if (status.ok()) continue;
      return {status.code(), absl::StrCat("the warm-up sample '", sample.name(), "' failed: ", status.message())};
    }
  }
  const std::string what = absl::StrCat(servable.name, " version ", servable.version);
  const Waited waited = WaitUntilWarm(*servable.model, deadline);
  UsePlans(servable, deadline);
  if (waited == Waited::kInVain) {
    Log().warn("{}: what it is to be warm for is not compiled after {} s; it serves without", what, limit.count());
  } else if (waited == Waited::kUntilWarm || !samples.empty()) {
    Log().info("{} is warm after {:.3f} s", what, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
