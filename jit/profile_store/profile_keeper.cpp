#include "jit/profile_store/profile_keeper.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "jit/support/background_thread.h"
#include "jit/support/logging.h"

namespace hearth {
namespace {

spdlog::logger& KeeperLog() {
  static spdlog::logger& log = LoggerOf("profile_store/profile_keeper");
  return log;
}

uint64_t CallsOf(const std::vector<SpecProfile>& profiles) {
  uint64_t calls = 0;
  for (const SpecProfile& each : profiles) calls += each.calls;
  return calls;
}

}  // namespace

ProfileKeeper::ProfileKeeper(const std::filesystem::path& folder, std::chrono::nanoseconds interval)
    : store_(folder), interval_(interval) {
  thread_.emplace([this] { Work(); });
}

ProfileKeeper::~ProfileKeeper() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  thread_.reset();
}

void ProfileKeeper::Adopt(const std::shared_ptr<ModelExecutor>& executor, const ZipReader& archive,
                          c10::Device device) {
  const std::string key = ProfileStore::KeyOf(archive, device);
  std::vector<SpecProfile> profiles = store_.Read(key);
  std::vector<SpecProfile> read;
  for (const SpecProfile& each : profiles) read.push_back({each.method, each.calls, each.spec});
  const size_t asked = executor->RestoreProfiles(std::move(profiles));
  if (asked > 0) KeeperLog().info("{}: compiling for {} argument specs known from before", archive.file_name(), asked);
  const std::lock_guard lock(mutex_);
  kept_.push_back({executor, key, std::move(read), CallsOf(executor->tiers()->profiles())});
}

void ProfileKeeper::Release(const std::shared_ptr<ModelExecutor>& executor) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::ranges::find_if(kept_, [&](const Kept& each) { return each.executor.lock() == executor; });
  if (kept == kept_.end()) return;
  Write(*kept, *executor);
  kept_.erase(kept);
}

void ProfileKeeper::Work() {
  TakeLeastPriority();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    closed_.wait_for(lock, interval_);
    WriteAll();
  }
}

void ProfileKeeper::WriteAll() {
  for (Kept& kept : kept_) {
    if (const auto executor = kept.executor.lock()) Write(kept, *executor);
  }
  std::erase_if(kept_, [](const Kept& kept) { return kept.executor.expired(); });
}

void ProfileKeeper::Write(Kept& kept, const ModelExecutor& executor) {
  // There is nobody to tell: this is a thread of the keeper's own, or a model that goes.
  try {
    std::vector<SpecProfile> profiles = executor.tiers()->profiles();
    const uint64_t calls = CallsOf(profiles);
    if (calls == kept.calls_written) return;
    store_.Write(kept.key, std::move(profiles), kept.read);
    kept.calls_written = calls;
  } catch (const std::exception& error) {
    KeeperLog().error("{}: what the model was called with is not kept: {}", kept.key, error.what());
  }
}

}  // namespace hearth
