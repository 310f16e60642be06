// The profile of what a CodeEntry's calls do: which calls are sampled, what their runs saw, what plans speculated on
// that turned out wrong, and which shapes are called most.
//
// A request that is sampled fills samples of its own, which are joined to the profile when its run ends if nobody else
// is doing so just then; if somebody is, they are lost. It never waits. Sampling is bounded: so many runs, and so many
// more each time that a plan was deoptimised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "jit/analysis/exact_shape.h"
#include "jit/analysis/value_profile.h"
#include "jit/executor/spec_profile.h"

namespace hearth {

// Thread-safe. Held by shared_ptr.
class EntryProfile : public std::enable_shared_from_this<EntryProfile> {
 public:
  static constexpr uint32_t kRuns = 16;

  // A profile is made of so many `runs`, and made anew for `max_deoptimisations` plans. `sites` outlive it and all
  // samples.
  EntryProfile(std::span<const ProfileSite> sites, uint32_t runs, uint32_t max_deoptimisations)
      : EntryProfile(sites, runs, max_deoptimisations, {}) {}
  // One that goes on from what was known before.
  EntryProfile(std::span<const ProfileSite> sites, uint32_t runs, uint32_t max_deoptimisations,
               SpeculationProfile earlier);
  ~EntryProfile() { delete spare_.load(); }
  EntryProfile(const EntryProfile&) = delete;
  EntryProfile& operator=(const EntryProfile&) = delete;

  // What a run that is to be sampled fills; dropping it gives it back. Null if enough are sampled. Never waits.
  std::shared_ptr<RunSamples> TakeSamples();
  // True once after enough runs were sampled, to whoever has a plan made of them.
  bool TakeReady() { return ready_.load(std::memory_order_relaxed) && ready_.exchange(false); }
  // He could not: somebody else is to be told.
  void PutBack() { ready_.store(true); }

  // Guards on values with these numbers (ValuesInOrder) failed too often: unless `invalidate` returns false, they are
  // not to be made again, and what was seen is forgotten. Sampling begins anew, but not after the last plan. Whether
  // that was done; never waits, and does nothing where it would have to.
  bool TryDeoptimise(std::span<const size_t> numbers, const std::function<bool()>& invalidate);

  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  // Counts `weight` calls of the arguments' shape, and gives it to `take` if it has now been called `after` times and
  // was not taken before. Never waits, nor must `take`.
  void CountShape(std::span<const c10::IValue> arguments, uint64_t weight, uint64_t after,
                  const std::function<bool(const ExactShape&)>& take);
  // No plan could be made for it: it may be taken again, after as many calls. For the compiler's threads.
  void PutBackShape(const ExactShape& shape);

  // For the compiler's threads, which may wait.
  // A shape that was counted before there was this profile; `taken` if it was given to somebody.
  void Remember(const ExactShape& shape, uint64_t calls, bool taken);
  // The shape that was counted most; null if none was.
  std::optional<ExactShape> FrequentShape() const;
  struct CountedShape {
    ExactShape shape;
    uint64_t calls;
    bool taken;
  };
  // Those counted most, the most counted first.
  std::vector<CountedShape> Shapes() const;
  // Whose `baseline` is for the caller to fill in.
  SpeculationProfile Snapshot() const;

  // About what it takes.
  size_t bytes() const { return sizeof(*this) + sites_.size() * sizeof(ValueObservation); }

 private:
  // How often sampling was begun anew, and of this time the runs that are sampled or have been. One word: a run that
  // lost its samples gives its place back only while the same sampling goes on.
  struct Sampling {
    uint32_t generation;
    uint32_t begun;
  };

  void Add(const RunSamples& samples, uint32_t generation);
  void GiveBack(RunSamples* samples);

  const std::span<const ProfileSite> sites_;
  const uint32_t wanted_;
  const uint32_t max_deoptimisations_;
  std::atomic<Sampling> sampling_;  // another generation only under the lock
  std::atomic<bool> ready_{false};
  // A run's samples for the next run, empty: their memory is large, and malloc slow with what is.
  std::atomic<RunSamples*> spare_{nullptr};
  mutable std::mutex mutex_;
  // Under the lock:
  // The most called of many shapes in little memory: A. Metwally et al., "Efficient computation of frequent and top-k
  // elements in data streams", 2005.
  struct Candidate {
    ExactShape shape;
    uint64_t calls;
    uint64_t others;  // of those, how many may have been of shapes that were here before
    bool taken;
  };
  std::vector<Candidate> candidates_;
  ValueProfile profile_;
  std::set<size_t> deoptimised_;
};

}  // namespace hearth
