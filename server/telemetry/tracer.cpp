#include "server/telemetry/tracer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jit/support/logging.h"
#include "jit/support/text.h"
#include "server/telemetry/trace_exporter.h"

namespace hearth::server {
namespace {

constexpr std::chrono::seconds kBetweenExports{1};
constexpr std::chrono::seconds kTimeOfExport{10};
constexpr std::chrono::seconds kTimeOfLastExport{2};
constexpr std::chrono::minutes kBetweenWarnings{1};
constexpr size_t kMostLogBytes = 1 << 10;
// Of a request's names and of its error, in its spans.
constexpr size_t kMostNameBytes = 256;
constexpr size_t kMostMessageBytes = 1 << 10;

spdlog::logger& TracerLog() {
  static spdlog::logger& log = LoggerOf("telemetry/tracer");
  return log;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tracer>> Tracer::Create(Options options) {
  auto exporter = TraceExporter::Create(options.endpoint, std::move(options.service_name));
  if (!exporter.ok()) return exporter.status();
  return std::unique_ptr<Tracer>(new Tracer(*std::move(exporter), options.rate));
}

Tracer::Tracer(std::unique_ptr<TraceExporter> exporter, int64_t rate)
    : exporter_(std::move(exporter)), rate_(rate), thread_([this] { Run(); }) {}

Tracer::~Tracer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::optional<TraceContext> Tracer::Begin(const std::optional<TraceContext>& caller) {
  if (!on_) return std::nullopt;
  if (caller && !caller->sampled) return std::nullopt;
  if (!caller) {
    const int64_t rate = rate_;
    if (rate == 0 || asked_.fetch_add(1, std::memory_order_relaxed) % static_cast<uint64_t>(rate) != 0) {
      return std::nullopt;
    }
  }
  for (int64_t left = left_; left >= 0;) {
    if (left == 0) return std::nullopt;
    if (left_.compare_exchange_weak(left, left - 1)) break;
  }
  return caller ? caller : NewTrace();
}

void Tracer::End(RequestTrace trace) {
  // What waits is bounded in bytes, too.
  for (std::string* name : {&trace.model, &trace.version, &trace.id})
    name->resize(std::min(name->size(), kMostNameBytes));
  trace.status = absl::Status(trace.status.code(), trace.status.message().substr(0, kMostMessageBytes));
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      ++counts_.dropped;
      return;
    }
    waiting_.push_back(std::move(trace));
    if (waiting_.size() < kMostAtOnce) return;
  }
  changed_.notify_one();
}

Tracer::Settings Tracer::settings() const { return {.on = on_, .rate = rate_, .count = left_}; }

void Tracer::set_settings(const Settings& settings) {
  rate_ = settings.rate;
  left_ = settings.count;
  on_ = settings.on;
}

TraceCounts Tracer::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void Tracer::Run() {
  auto last_warning = std::chrono::steady_clock::now() - kBetweenWarnings;
  bool stop = false;
  while (!stop) {
    std::vector<RequestTrace> traces;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kBetweenExports, [this] { return stop_ || waiting_.size() >= kMostAtOnce; });
      // What still waits at the end goes in one message.
      stop = stop_;
      const auto end = stop ? waiting_.end()
                            : waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMostAtOnce));
      traces.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
      waiting_.erase(waiting_.begin(), end);
    }
    if (traces.empty()) continue;
    const auto time = stop ? kTimeOfLastExport : kTimeOfExport;
    const absl::Status status = exporter_->Export(traces, std::chrono::system_clock::now() + time);
    {
      std::lock_guard lock(mutex_);
      (status.ok() ? counts_.exported : counts_.failed) += traces.size();
    }
    const auto now = std::chrono::steady_clock::now();
    if (status.ok() || now - last_warning < kBetweenWarnings) continue;
    last_warning = now;
    TracerLog().warn("the collector of traces does not take them: {}",
                     ForLog({status.message().data(), status.message().size()}, kMostLogBytes));
  }
}

}  // namespace hearth::server
