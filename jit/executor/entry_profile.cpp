#include "jit/executor/entry_profile.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

constexpr size_t kCandidates = StoredShape::kMost;

// From where no process began: runs of several may come to one profile.
uint64_t NumberOfRun() {
  static std::atomic<uint64_t> next{uint64_t{std::random_device()()} << 32};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

EntryProfile::EntryProfile(std::span<const ProfileSite> sites, uint32_t runs, uint32_t max_deoptimisations,
                           SpeculationProfile earlier)
    : sites_(sites),
      wanted_(runs),
      max_deoptimisations_(max_deoptimisations),
      sampling_({earlier.deoptimisations,
                 earlier.deoptimisations < max_deoptimisations ? std::min(earlier.seen.runs, runs) : runs}),
      profile_(std::move(earlier.seen)),
      deoptimised_(std::move(earlier.deoptimised)) {}

std::shared_ptr<RunSamples> EntryProfile::TakeSamples() {
  Sampling now = sampling_.load(std::memory_order_relaxed);
  do {
    if (now.begun >= wanted_) return nullptr;
  } while (!sampling_.compare_exchange_weak(now, {now.generation, now.begun + 1}));
  // The profile's memory, not the request's.
  const MemoryAccount::Scope nobody(nullptr);
  RunSamples* samples = spare_.exchange(nullptr);
  if (samples == nullptr) {
    samples = new RunSamples(sites_.size(), NumberOfRun());
  } else {
    samples->Reset(NumberOfRun());
  }
  return {samples, [profile = shared_from_this(), generation = now.generation](RunSamples* filled) {
            const MemoryAccount::Scope nobody(nullptr);
            profile->Add(*filled, generation);
            profile->GiveBack(filled);
          }};
}

void EntryProfile::GiveBack(RunSamples* samples) {
  if (sampling_.load(std::memory_order_relaxed).begun < wanted_) {
    samples->Reset(0);
    samples = spare_.exchange(samples);
  }
  delete samples;
}

void EntryProfile::Add(const RunSamples& samples, uint32_t generation) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  Sampling now = sampling_.load();
  if (lock.owns_lock()) {
    if (now.generation != generation) return;
    profile_.Join(samples, sites_);
    if (profile_.runs == wanted_) ready_.store(true);
    return;
  }
  while (now.generation == generation && !sampling_.compare_exchange_weak(now, {generation, now.begun - 1})) continue;
}

bool EntryProfile::TryDeoptimise(std::span<const size_t> numbers, const std::function<bool()>& invalidate) {
  const MemoryAccount::Scope nobody(nullptr);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !invalidate()) return false;
  deoptimised_.insert(numbers.begin(), numbers.end());
  profile_ = {};
  ready_.store(false);
  const uint32_t generation = sampling_.load().generation + 1;
  sampling_.store({generation, generation < max_deoptimisations_ ? 0 : wanted_});
  return true;
}

void EntryProfile::CountShape(std::span<const c10::IValue> arguments, uint64_t weight, uint64_t after,
                              const std::function<bool(const ExactShape&)>& take) {
  const MemoryAccount::Scope nobody(nullptr);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  auto found = std::ranges::find_if(candidates_, [&](const Candidate& one) { return one.shape.Fits(arguments); });
  if (found == candidates_.end()) {
    std::optional<ExactShape> shape = ExactShape::Of(arguments);
    if (!shape) return;
    if (candidates_.size() < kCandidates) {
      candidates_.push_back({*std::move(shape), 0, 0, false});
      found = std::prev(candidates_.end());
    } else {
      found = std::ranges::min_element(candidates_, {}, &Candidate::calls);
      *found = {*std::move(shape), found->calls, found->calls, false};
    }
  }
  found->calls += weight;
  if (!found->taken && found->calls - found->others >= after) found->taken = take(found->shape);
}

void EntryProfile::PutBackShape(const ExactShape& shape) {
  const std::lock_guard lock(mutex_);
  for (Candidate& one : candidates_) {
    if (one.shape != shape) continue;
    one.taken = false;
    one.others = one.calls;
  }
}

void EntryProfile::Remember(const ExactShape& shape, uint64_t calls, bool taken) {
  const std::lock_guard lock(mutex_);
  if (candidates_.size() < kCandidates) candidates_.push_back({shape, calls, 0, taken});
}

std::vector<EntryProfile::CountedShape> EntryProfile::Shapes() const {
  std::vector<CountedShape> shapes;
  {
    const std::lock_guard lock(mutex_);
    for (const Candidate& one : candidates_) shapes.push_back({one.shape, one.calls - one.others, one.taken});
  }
  std::ranges::stable_sort(shapes, std::greater(), &CountedShape::calls);
  return shapes;
}

std::optional<ExactShape> EntryProfile::FrequentShape() const {
  const std::lock_guard lock(mutex_);
  const auto most = std::ranges::max_element(candidates_, {}, &Candidate::calls);
  return most == candidates_.end() ? std::nullopt : std::optional(most->shape);
}

SpeculationProfile EntryProfile::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return {0, sampling_.load().generation, deoptimised_, profile_};
}

}  // namespace hearth
