#include "jit/plan_cache/plan_keeper.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "jit/executor/background_thread.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("plan_cache/plan_keeper");
  return log;
}

uint64_t CallsOf(const std::vector<KnownArguments>& known) {
  uint64_t calls = 0;
  for (const KnownArguments& each : known) calls += each.calls;
  return calls;
}

}  // namespace

PlanKeeper::PlanKeeper(const std::filesystem::path& folder, std::chrono::nanoseconds interval)
    : store_(folder), interval_(interval) {
  thread_.emplace([this] { Work(); });
}

PlanKeeper::~PlanKeeper() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  thread_.reset();
}

void PlanKeeper::Adopt(const std::shared_ptr<ModelExecutor>& executor, const ZipReader& archive, c10::Device device) {
  const std::string key = PlanStore::KeyOf(archive, device);
  std::vector<KnownArguments> known = store_.Read(key);
  std::vector<KnownArguments> read;
  for (const KnownArguments& each : known) read.push_back({each.method, each.calls, each.spec});
  const size_t asked = executor->Recall(std::move(known));
  if (asked > 0) Log().info("{}: compiling for {} kinds of arguments known from before", archive.file_name(), asked);
  const std::lock_guard lock(mutex_);
  kept_.push_back({executor, key, std::move(read), CallsOf(executor->tiers()->Known())});
}

void PlanKeeper::Release(const std::shared_ptr<ModelExecutor>& executor) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::ranges::find_if(kept_, [&](const Kept& each) { return each.executor.lock() == executor; });
  if (kept == kept_.end()) return;
  Write(*kept, *executor);
  kept_.erase(kept);
}

void PlanKeeper::Work() {
  TakeLeastPriority();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    closed_.wait_for(lock, interval_);
    WriteAll();
  }
}

void PlanKeeper::WriteAll() {
  for (Kept& kept : kept_) {
    if (const auto executor = kept.executor.lock()) Write(kept, *executor);
  }
  std::erase_if(kept_, [](const Kept& kept) { return kept.executor.expired(); });
}

void PlanKeeper::Write(Kept& kept, const ModelExecutor& executor) {
  // There is nobody to tell: this is a thread of the keeper's own, or a model that goes.
  try {
    std::vector<KnownArguments> known = executor.tiers()->Known();
    const uint64_t calls = CallsOf(known);
    if (calls == kept.calls_written) return;
    store_.Write(kept.key, std::move(known), kept.read);
    kept.calls_written = calls;
  } catch (const std::exception& error) {
    Log().error("{}: what the model was called with is not kept: {}", kept.key, error.what());
  }
}

}  // namespace hearth
