#include "jit/executor/entry_profile.h"

#include <utility>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

uint64_t NumberOfRun() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::shared_ptr<RunSamples> EntryProfile::TakeSamples() {
  if (begun_.load(std::memory_order_relaxed) >= wanted_ || begun_.fetch_add(1) >= wanted_) return nullptr;
  // The profile's memory, not the request's.
  const MemoryAccount::Scope nobody(nullptr);
  return {new RunSamples(sites_.size(), NumberOfRun()),
          [profile = shared_from_this(), generation = generation_.load()](const RunSamples* samples) {
            const MemoryAccount::Scope nobody(nullptr);
            profile->Add(*samples, generation);
            delete samples;
          }};
}

void EntryProfile::Add(const RunSamples& samples, uint64_t generation) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && generation == generation_.load()) {
    profile_.Join(samples, sites_);
    if (profile_.runs == wanted_) ripe_.store(true);
  } else if (generation == generation_.load()) {
    begun_.fetch_sub(1);
  }
}

bool EntryProfile::TryRefute(std::span<const size_t> numbers, unsigned most, const std::function<bool()>& retire) {
  const MemoryAccount::Scope nobody(nullptr);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !retire()) return false;
  refuted_.insert(numbers.begin(), numbers.end());
  profile_ = {};
  ripe_.store(false);
  const uint64_t restarts = generation_.fetch_add(1) + 1;
  begun_.store(restarts < most ? 0 : wanted_);
  return true;
}

ValueProfile EntryProfile::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

std::set<size_t> EntryProfile::refuted() const {
  const std::lock_guard lock(mutex_);
  return refuted_;
}

}  // namespace hearth
