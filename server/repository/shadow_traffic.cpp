#include "server/repository/shadow_traffic.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/repository/background_run.h"
#include "server/repository/live_calls.h"
#include "server/repository/repository_log.h"

namespace hearth::server {
namespace {

using ShadowClock = std::chrono::steady_clock;

constexpr const char* kShadowRequests = "shadow_requests";
constexpr const char* kShadowSeconds = "shadow_seconds";
constexpr const char* kShadowTolerance = "shadow_tolerance";
constexpr const char* kShadowDifferences = "shadow_differences";
constexpr std::array<const char*, 4> kShadowParameters = {kShadowRequests, kShadowSeconds, kShadowTolerance,
                                                          kShadowDifferences};
constexpr double kLargestTolerance = 1e9;

// Null where nobody says.
const std::string* ShadowParameter(const inference::ModelConfig& config, const ShadowOverrides& overrides,
                                   const char* name) {
  if (const auto found = overrides.find(name); found != overrides.end()) return &found->second;
  const auto found = config.parameters().find(name);
  return found == config.parameters().end() ? nullptr : &found->second.string_value();
}

absl::Status WrongShadowParameter(const char* name, const std::string& text, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the parameter ", name, " is '", text, "'; it must be ", what));
}

// `text` is null where the number stays as it is.
absl::Status ReadNumber(const std::string* text, const char* name, double most, double& number) {
  if (text == nullptr) return absl::OkStatus();
  // Written so that a NaN is out of bounds.
  if (absl::SimpleAtod(*text, &number) && number >= 0 && number <= most) return absl::OkStatus();
  return WrongShadowParameter(name, *text, absl::StrFormat("a number from 0 to %g", most));
}

// Requests that cannot be compared, after which no more are waited for if there was no other one.
constexpr uint64_t kMostSkipped = 16;

// What became of the requests so far.
struct Tally {
  uint64_t same = 0, different = 0, failed = 0;
  uint64_t skipped = 0;  // that cannot be compared
  std::string why_not;   // of one of them
  double largest = 0;    // of the differences of elements
  std::string first;     // what was wrong with the first request that was not the same

  uint64_t compared() const { return same + different + failed; }
  bool in_vain() const { return compared() == 0 && skipped >= kMostSkipped; }
};

// The result of one call. Throws what its memory's bound throws.
absl::StatusOr<AnswerDifference> AnswerOne(const LiveCall& call, const Servable& version, double tolerance,
                                           const BackgroundBounds& bounds) {
  auto bound = BindWithin(bounds.memory, [&] { return call.Bind(version); });
  if (!bound.ok()) return bound.status();
  const std::vector<int> threads = version.model->operator_threads();
  auto result =
      RunInBackground(version, call.method(), *std::move(bound), bounds, threads.empty() ? 0 : threads.back());
  if (!result.ok()) return result.status();
  return call.Compare(*std::move(result), version, tolerance);
}

void CompareOne(const LiveCall& call, const Servable& version, double tolerance, const BackgroundBounds& bounds,
                Tally& tally) {
  absl::StatusOr<AnswerDifference> difference = AnswerDifference();
  try {
    difference = AnswerOne(call, version, tolerance, bounds);
  } catch (const std::exception& error) {
    difference = absl::ResourceExhaustedError(error.what());
  }
  // Nothing is known of a run that was not let to its end; but a version of which no run ends is not to serve.
  const bool was_cut = absl::IsDeadlineExceeded(difference.status()) && ShadowClock::now() >= bounds.deadline;
  if (bounds.stop.stop_requested() || (was_cut && tally.compared() > 0)) return;
  std::string wrong;
  if (!difference.ok()) {
    ++tally.failed;
    wrong = absl::StrCat("it failed: ", difference.status().message());
    version.statistics->Shadowed(ShadowResult::kFailed);
  } else {
    tally.largest = std::max(tally.largest, difference->largest);
    wrong = difference->text;
    ++(wrong.empty() ? tally.same : tally.different);
    version.statistics->Shadowed(wrong.empty() ? ShadowResult::kSame : ShadowResult::kDifferent);
  }
  if (tally.first.empty()) tally.first = std::move(wrong);
}

void Rest(ShadowClock::duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

std::string TextOf(const Tally& tally, const Servable& before, const ShadowSettings& settings) {
  if (tally.compared() == 0 && tally.skipped > 0) {
    return absl::StrCat("not compared with version ", before.version, ": ", tally.why_not);
  }
  if (tally.compared() == 0) {
    return absl::StrFormat("not compared with version %d: no request came within %g s", before.version,
                           settings.seconds);
  }
  std::string text = absl::StrFormat("compared with version %d on %d live requests: largest difference %.3g",
                                     before.version, tally.compared(), tally.largest);
  if (tally.same == tally.compared()) return text;
  return absl::StrFormat("%s, %d answered otherwise (tolerance %g), %d failed; the first: %s", text, tally.different,
                         settings.tolerance, tally.failed, tally.first);
}

// Why a method's answers do not follow from its requests alone; empty: they do. A method that is not there says so
// itself when it is called.
std::string WhyNotComparable(const Servable& version, const std::string& method) {
  const auto why = version.model->WhyNotRepeatable(method);
  return !why.ok() || why->empty() ? "" : absl::StrCat(method, " of version ", version.version, " ", *why);
}

bool MayCompare(const LiveCall& call, const Servable& before, const Servable& version, Tally& tally) {
  for (const Servable* each : {&before, &version}) {
    std::string why = WhyNotComparable(*each, call.method());
    if (why.empty()) continue;
    ++tally.skipped;
    tally.why_not = std::move(why);
    return false;
  }
  return true;
}

}  // namespace

std::span<const char* const> ShadowParameters() { return kShadowParameters; }

absl::StatusOr<ShadowSettings> ShadowSettingsOf(const inference::ModelConfig& config,
                                                const ShadowOverrides& overrides) {
  ShadowSettings settings;
  const auto text_of = [&](const char* name) { return ShadowParameter(config, overrides, name); };
  const std::string* const requests = text_of(kShadowRequests);
  if (requests != nullptr &&
      (!absl::SimpleAtoi(*requests, &settings.requests) || settings.requests > kMostShadowRequests)) {
    return WrongShadowParameter(kShadowRequests, *requests,
                                absl::StrCat("a whole number from 0 to ", kMostShadowRequests));
  }
  if (settings.requests > 0 && config.has_sequence_batching()) {
    return absl::InvalidArgumentError(absl::StrCat("the parameter ", kShadowRequests,
                                                   " is not for a model with sequences, whose answers do not follow "
                                                   "from a request alone"));
  }
  absl::Status status = ReadNumber(text_of(kShadowSeconds), kShadowSeconds, kMostShadowSeconds, settings.seconds);
  if (status.ok())
    status = ReadNumber(text_of(kShadowTolerance), kShadowTolerance, kLargestTolerance, settings.tolerance);
  if (!status.ok()) return status;
  const std::string* const differences = text_of(kShadowDifferences);
  if (differences == nullptr) return settings;
  if (*differences != "refuse" && *differences != "report") {
    return WrongShadowParameter(kShadowDifferences, *differences, "'refuse' or 'report'");
  }
  settings.refuses = *differences == "refuse";
  return settings;
}

absl::StatusOr<std::string> CompareOnLiveRequests(const Servable& before, const Servable& version,
                                                  const ShadowSettings& settings, int64_t memory_limit,
                                                  std::stop_token stop) {
  const std::string what = absl::StrCat(version.name, " version ", version.version);
  RepositoryLog().info("{} answers copies of {} requests of version {}, for {:g} s at most", what, settings.requests,
                       before.version, settings.seconds);
  const auto time = std::chrono::duration_cast<ShadowClock::duration>(std::chrono::duration<double>(settings.seconds));
  const ShadowClock::time_point deadline = ShadowClock::now() + time;
  const BackgroundBounds bounds{
      .deadline = deadline + settings.grace, .memory = memory_limit, .stop = stop, .in_background = true};
  Tally tally;
  before.live_calls.Begin();
  const absl::Cleanup end = [&] { before.live_calls.End(); };
  while (tally.compared() < settings.requests && !tally.in_vain()) {
    const auto call = before.live_calls.Next(deadline, stop);
    if (call == nullptr) break;
    if (!MayCompare(*call, before, version, tally)) continue;
    const ShadowClock::time_point start = ShadowClock::now();
    CompareOne(*call, version, settings.tolerance, bounds, tally);
    const ShadowClock::time_point now = ShadowClock::now();
    if (now >= deadline) break;
    if (tally.compared() < settings.requests) Rest(std::min(now - start, deadline - now), stop);
  }
  if (stop.stop_requested()) return absl::CancelledError("the comparison on live requests was stopped");
  std::string text = TextOf(tally, before, settings);
  const bool differs = tally.same < tally.compared();
  if (!differs) {
    RepositoryLog().info("{} is {}", what, text);
    return text;
  }
  RepositoryLog().warn("{} is {}", what, text);
  if (!settings.refuses) return text;
  return absl::FailedPreconditionError(text);
}

}  // namespace hearth::server
