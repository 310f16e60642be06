// Where a model's plans are found: (method, ArgumentSpec) -> CodeEntry, which counts calls and, once there is one,
// holds the plan that answers them.
//
// Lookup takes no lock, and for an entry that has a plan and has been called a few times it writes to no memory that
// other threads write: tables are read under epoch reclamation (epoch.h), the counted reference to the plan is striped
// over threads, calls are counted by a random sample. A spec that is not there yet gets an entry if the lock is free;
// if not, some later call of its kind does it.
//
// A table is open-addressed with linear probing. Entries are added in place; a table that grows or loses entries is
// replaced. Writers of all caches that share a budget share its mutex, which nobody holds for longer than it takes to
// walk one cache's entries.
//
// Bounds are of entries and of bytes, for each cache and for all together. Room is made in batches by the clock
// algorithm (F. Corbato, "A paging experiment with the Multics system", 1968) over bits that say what was used, in the
// cache that is full or, where all together are, in the one that holds most. What is being compiled is not evicted. An
// evicted or invalidated plan goes with its last reference, after the next Install or Replace in any cache of the
// budget.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/exact_shape.h"
#include "jit/executor/epoch.h"
#include "jit/executor/spec_profile.h"

namespace hearth {

class CodeCache;
class EntryProfile;
class ExecutionPlan;

// Thread-safe. States change only through the cache.
class CodeEntry : public std::enable_shared_from_this<CodeEntry> {
 public:
  enum class State : uint8_t {
    kCold,         // not called often enough yet, or put off
    kQueued,       // somebody was told to compile it
    kCompiled,     // has a plan
    kFailed,       // compiling threw, or the plan was too large
    kDeoptimised,  // the plan speculated on what did not hold; another will not
  };

  CodeEntry(size_t method, ArgumentSpec spec, std::optional<ExactShape> shape, uint64_t due,
            std::shared_ptr<const SpecProfile> earlier = nullptr)
      : method_(method), spec_(std::move(spec)), shape_(std::move(shape)), earlier_(std::move(earlier)), due_(due) {}

  size_t method() const { return method_; }
  const ArgumentSpec& spec() const { return spec_; }
  // Of the first call; null if it has none, or there was none.
  const std::optional<ExactShape>& shape() const { return shape_; }
  // What was known before the first call; may be null.
  const SpecProfile* earlier() const { return earlier_.get(); }
  // About how often it was looked up: exact up to CodeCache::kExactCalls, then estimated from a sample.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  // With those that were known before.
  uint64_t all_calls() const { return calls() + (earlier_ == nullptr ? 0 : earlier_->calls); }
  State state() const { return state_.load(std::memory_order_acquire); }
  // How many compilations failed.
  unsigned attempts() const { return attempts_.load(std::memory_order_relaxed); }
  // Null until there is one.
  EntryProfile* profile() const { return profile_.load(std::memory_order_acquire); }
  // Once, by whoever compiles it.
  void SetProfile(std::shared_ptr<EntryProfile> profile) {
    profile_owner_ = std::move(profile);
    profile_.store(profile_owner_.get(), std::memory_order_release);
  }
  // What it takes without its plan.
  size_t bytes() const;

 private:
  friend class CodeCache;
  class Installed;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  const size_t method_;
  const ArgumentSpec spec_;
  const std::optional<ExactShape> shape_;
  const std::shared_ptr<const SpecProfile> earlier_;
  std::atomic<const Installed*> plan_{nullptr};  // of owner_
  std::atomic<bool> used_{false};  // since the clock's hand passed: seldom written, for it is looked at first
  std::atomic<State> state_{State::kCold};
  std::atomic<unsigned> attempts_{0};
  std::atomic<EntryProfile*> profile_{nullptr};  // of profile_owner_
  std::shared_ptr<EntryProfile> profile_owner_;
  std::atomic<uint64_t> due_;  // how many calls make it worth compiling
  // Written now and then by every caller: apart from what they read.
  alignas(64) std::atomic<uint64_t> calls_{0};
  // Under the budget's lock:
  std::shared_ptr<const Installed> owner_;
  bool linked_ = true;
};

struct CodeCacheLimits {
  size_t entries;
  size_t bytes;  // of entries and plans
};

// What all caches of a process may hold together. Thread-safe; outlives its caches.
class CodeCacheBudget {
 public:
  explicit CodeCacheBudget(CodeCacheLimits limits) : limits_(limits) {}

  CodeCacheLimits held() const;

 private:
  friend class CodeCache;

  const CodeCacheLimits limits_;
  mutable std::mutex mutex_;
  CodeCacheLimits held_{0, 0};
  std::vector<CodeCache*> caches_;
};

// Thread-safe. Destroyed when no lookup is under way.
class CodeCache {
 public:
  static constexpr uint64_t kExactCalls = 64;
  static constexpr uint32_t kSampleEvery = 32;
  static constexpr size_t kMaxExact = 8;  // plans of an entry for one shape each

  struct Settings {
    CodeCacheLimits limits{256, size_t{256} << 20};
    uint64_t compile_after = 2;  // calls of a spec
    unsigned max_attempts = 3;   // how often compiling may fail
  };

  // For methods 0 to `methods` - 1.
  CodeCache(std::shared_ptr<CodeCacheBudget> budget, size_t methods, Settings settings);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  struct Found {
    std::shared_ptr<const ExecutionPlan> plan;  // null: none yet
    // Given when this call was counted: the first kExactCalls of an entry, then one in kSampleEvery. A call to profile.
    std::shared_ptr<CodeEntry> entry;
    uint64_t weight = 0;  // how many calls this one stands for, if it was counted
    // The entry is now kQueued, and this caller the one who sees to it that Install, Fail or Postpone follows.
    bool due = false;
  };
  // `arguments`, which the spec is of, pick among an entry's plans: one for exactly their shape goes before the one for
  // all of them.
  Found Lookup(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments = {});
  // An entry for what is known from before this process began: it is kQueued, and this caller the one who sees to it.
  // Null if it is there already, or there is no room. Waits for the lock.
  std::shared_ptr<CodeEntry> AddQueued(size_t method, const ArgumentSpec& spec,
                                       std::shared_ptr<const SpecProfile> earlier);

  // These three end kQueued.
  //
  // Whether the plan, which takes `bytes`, is in. It is not if the entry was evicted, or there is no room for it, which
  // counts as failed. Waits for the lock and frees old plans: for the compiler's threads, not for requests.
  bool Install(CodeEntry& entry, const std::shared_ptr<const ExecutionPlan>& plan, size_t bytes);
  // Due again after four times as many calls as the last time, if it has attempts left.
  void Fail(CodeEntry& entry);
  // It was not compiled, which says nothing against it: due again after Settings::compile_after more calls.
  void Postpone(CodeEntry& entry);
  // Null if there is none. Waits for the lock.
  std::shared_ptr<CodeEntry> Find(size_t method, const ArgumentSpec& spec) const;
  // All that are kCold, though they are not due: each is now kQueued, and the caller the one who sees to it.
  std::vector<std::shared_ptr<CodeEntry>> TakeCold();

  // A better plan in place of the one that is in. False if the entry has none any more, or there is no room. As
  // Install.
  bool Replace(CodeEntry& entry, const std::shared_ptr<const ExecutionPlan>& plan, size_t bytes);
  // A plan for one shape alone beside the one for all, which there must be: one of the last kMaxExact. As Replace.
  bool InstallExact(CodeEntry& entry, const ExactShape& shape, const std::shared_ptr<const ExecutionPlan>& plan,
                    size_t bytes);
  // A plan speculates on what does not hold: it and all others of its entry are invalidated, so that nobody finds them
  // any more; the entry is due again after Settings::compile_after more calls. Whether that was done: it never waits
  // for the lock, and somebody else may have invalidated the plan before.
  bool TryDeoptimise(CodeEntry& entry, const ExecutionPlan& plan);
  // A plan is no good: it is invalidated, one for a single shape alone, or with one for all shapes all others of its
  // entry, which counts as failed. Whether that was done: it never waits for the lock, and the plan may not be the
  // entry's any more.
  bool TryInvalidate(CodeEntry& entry, const ExecutionPlan& plan);

  struct Counters {
    CodeCacheLimits held;
    size_t plans;
    uint64_t evicted;
    uint64_t busy;     // lookups that made no entry because the lock was not free
    uint64_t refused;  // lookups that made no entry, and plans that were not installed, for want of room
  };
  Counters counters() const;
  // What is in it now, in no order.
  std::vector<std::shared_ptr<const CodeEntry>> Entries() const;
  // An entry's plans, the one for all shapes first; none if it has none.
  std::vector<std::shared_ptr<const ExecutionPlan>> PlansOf(const CodeEntry& entry) const;

 private:
  class Table;
  struct Method {
    std::atomic<Table*> table{nullptr};  // of owner
    std::shared_ptr<Table> owner;        // under the lock
  };
  using Garbage = std::vector<std::shared_ptr<const void>>;

  static void Count(CodeEntry& entry, Found* found);
  Found Add(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments);

  // With the lock held:
  bool MakeRoom(CodeCacheLimits more);
  bool EvictBatch();
  void Unlink(const std::vector<std::shared_ptr<CodeEntry>>& evicted);
  void Link(const std::shared_ptr<CodeEntry>& entry);
  void AddToTable(CodeEntry& entry);
  void SetTable(Method& method, std::shared_ptr<Table> table);
  bool SetPlans(CodeEntry& entry, std::shared_ptr<const CodeEntry::Installed> plans);
  void RemovePlan(CodeEntry& entry);
  Garbage CollectPlans();
  void Hold(size_t entries, size_t bytes);
  void Release(size_t entries, size_t bytes);

  const std::shared_ptr<CodeCacheBudget> budget_;
  const Settings settings_;
  std::vector<Method> methods_;
  std::atomic<uint64_t> busy_{0};
  // Under the budget's lock:
  std::deque<std::shared_ptr<CodeEntry>> entries_;  // from the one that the clock's hand points to
  EpochLimbo limbo_;                                // tables and entries: cheap enough for requests to free
  EpochLimbo plans_limbo_;                          // plans, which only Install and Replace free, of whatever cache
  CodeCacheLimits held_{0, 0};
  size_t plans_ = 0;
  uint64_t evicted_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace hearth
