#include "jit/executor/code_cache.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "jit/executor/random_sample.h"
#include "jit/support/memory_account.h"
#include "jit/support/striped_pointer.h"

namespace hearth {
namespace {

// While a reader sleeps in its epoch nothing can be freed; this much may pile up.
constexpr size_t kMaxLimbo = 4096;
// What an entry takes in its table, where one slot in two to eight is used.
constexpr size_t kTableBytes = 4 * 16;

// About.
size_t BytesOf(const SpecProfile& known) {
  size_t bytes = sizeof(known) + known.method.size() + known.spec.words().size() * sizeof(uint64_t);
  for (const StoredShape& shape : known.shapes) bytes += sizeof(shape) + shape.numbers.size() * sizeof(int64_t);
  if (known.speculation) bytes += known.speculation->seen.values.size() * sizeof(ValueObservation);
  return bytes;
}

// One call in kSampleEvery.
bool SampleCall() { return RandomWord() % CodeCache::kSampleEvery == 0; }

}  // namespace

// An entry's plans and references to them that are counted apart: readers of different stripes write to different
// cache lines.
class CodeEntry::Installed {
 public:
  struct Version {
    std::optional<ExactShape> shape;  // null: for all shapes
    std::shared_ptr<const ExecutionPlan> plan;
    size_t bytes;
  };

  // The first is for all shapes.
  explicit Installed(std::vector<Version> versions) : versions_(std::move(versions)) {
    for (const Version& version : versions_) plans_.emplace_back(version.plan);
  }

  std::shared_ptr<const ExecutionPlan> Reference(unsigned thread, std::span<const c10::IValue> arguments) const {
    size_t best = 0;
    for (size_t i = versions_.size(); i-- > 1 && best == 0;) {
      if (versions_[i].shape->Fits(arguments)) best = i;
    }
    return plans_[best].Reference(thread);
  }
  const std::vector<Version>& versions() const { return versions_; }
  bool Has(const ExecutionPlan& plan) const {
    return std::ranges::any_of(versions_, [&](const Version& version) { return version.plan.get() == &plan; });
  }

  size_t bytes() const {
    size_t bytes = sizeof(Installed);
    for (const Version& version : versions_) {
      bytes += version.bytes + sizeof(Version) + StripedPointer<const ExecutionPlan>::bytes();
      if (version.shape) bytes += version.shape->bytes();
    }
    return bytes;
  }

 private:
  const std::vector<Version> versions_;
  std::vector<StripedPointer<const ExecutionPlan>> plans_;  // by version
};

class CodeCache::Table {
 public:
  // With room for `entries` and as many again.
  explicit Table(size_t entries) : slots_(std::bit_ceil(std::max<size_t>(4, entries) * 4)) {}

  CodeEntry* Find(const ArgumentSpec& spec) const {
    for (size_t i = spec.hash();; ++i) {
      const Slot& slot = slots_[i & (slots_.size() - 1)];
      CodeEntry* entry = slot.entry.load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (slot.hash == spec.hash() && entry->spec() == spec) return entry;
    }
  }

  // The rest for writers, under the lock.
  bool IsFull() const { return size_ * 2 >= slots_.size(); }
  size_t size() const { return size_; }
  void Add(CodeEntry* entry) {
    size_t i = entry->spec().hash();
    while (slots_[i & (slots_.size() - 1)].entry.load(std::memory_order_relaxed) != nullptr) ++i;
    Slot& slot = slots_[i & (slots_.size() - 1)];
    slot.hash = entry->spec().hash();
    slot.entry.store(entry, std::memory_order_release);
    ++size_;
  }
  void CopyTo(Table* other) const {
    for (const Slot& slot : slots_) {
      if (CodeEntry* entry = slot.entry.load(std::memory_order_relaxed)) other->Add(entry);
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::atomic<CodeEntry*> entry{nullptr};
  };

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  size_t size_ = 0;
};

CodeCacheLimits CodeCacheBudget::held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

CodeCache::CodeCache(std::shared_ptr<CodeCacheBudget> budget, size_t methods, Settings settings)
    : budget_(std::move(budget)), settings_(settings), methods_(methods) {
  std::lock_guard lock(budget_->mutex_);
  budget_->caches_.push_back(this);
}

CodeCache::~CodeCache() {
  std::lock_guard lock(budget_->mutex_);
  std::erase(budget_->caches_, this);
  Release(held_.entries, held_.bytes);
}

CodeCache::Found CodeCache::Lookup(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments) {
  {
    const EpochReader reading;
    const Table* table = methods_[method].table.load();
    if (CodeEntry* entry = table == nullptr ? nullptr : table->Find(spec)) {
      Found found;
      // Not when the entry is made: who is called only once is the first to go.
      if (!entry->used_.load(std::memory_order_relaxed)) entry->used_.store(true, std::memory_order_relaxed);
      const CodeEntry::Installed* installed = entry->plan_.load();
      if (installed != nullptr) found.plan = installed->Reference(reading.thread_number(), arguments);
      Count(*entry, &found);
      return found;
    }
  }
  return Add(method, spec, arguments);
}

void CodeCache::Count(CodeEntry& entry, Found* found) {
  uint64_t weight = 1;
  if (entry.calls() >= kExactCalls) {
    if (!SampleCall()) return;
    weight = kSampleEvery;
  }
  const uint64_t calls = entry.calls_.fetch_add(weight, std::memory_order_relaxed) + weight;
  found->entry = entry.shared_from_this();
  found->weight = weight;
  if (calls < entry.due_.load(std::memory_order_relaxed)) return;
  CodeEntry::State state = entry.state();
  if (state == CodeEntry::State::kQueued || state == CodeEntry::State::kCompiled) return;
  found->due = entry.state_.compare_exchange_strong(state, CodeEntry::State::kQueued);
}

CodeCache::Found CodeCache::Add(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments) {
  // The cache's memory, not the request's.
  const MemoryAccount::Scope nobody(nullptr);
  Garbage garbage;  // freed after the lock
  Found found;
  std::optional<ExactShape> shape = ExactShape::Of(arguments);
  std::unique_lock lock(budget_->mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    busy_.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  // Somebody may have been faster.
  const Table* table = methods_[method].owner.get();
  CodeEntry* known = table == nullptr ? nullptr : table->Find(spec);
  if (known != nullptr) {
    Count(*known, &found);
    return found;
  }
  auto entry = std::make_shared<CodeEntry>(method, spec, std::move(shape), settings_.compile_after);
  if (!MakeRoom({1, entry->bytes()})) {
    ++refused_;
    return found;
  }
  Link(entry);
  garbage = limbo_.Collect();
  Count(*entry, &found);
  return found;
}

std::shared_ptr<CodeEntry> CodeCache::AddQueued(size_t method, const ArgumentSpec& spec,
                                                std::shared_ptr<const SpecProfile> earlier) {
  Garbage garbage;
  std::lock_guard lock(budget_->mutex_);
  const Table* table = methods_[method].owner.get();
  if (table != nullptr && table->Find(spec) != nullptr) return nullptr;
  auto entry = std::make_shared<CodeEntry>(method, spec, std::nullopt, settings_.compile_after, std::move(earlier));
  if (!MakeRoom({1, entry->bytes()})) return nullptr;
  entry->state_.store(CodeEntry::State::kQueued);
  Link(entry);
  garbage = limbo_.Collect();
  return entry;
}

void CodeCache::Link(const std::shared_ptr<CodeEntry>& entry) {
  Hold(1, entry->bytes());
  entries_.push_back(entry);
  AddToTable(*entry);
}

size_t CodeEntry::bytes() const {
  const size_t shape = shape_ ? shape_->bytes() - sizeof(ExactShape) : 0;
  const size_t known = earlier_ == nullptr ? 0 : BytesOf(*earlier_);
  return sizeof(CodeEntry) - sizeof(ArgumentSpec) + spec_.bytes() + shape + known + kTableBytes;
}

bool CodeCache::Install(CodeEntry& entry, const std::shared_ptr<const ExecutionPlan>& plan, size_t bytes) {
  Garbage garbage;
  std::lock_guard lock(budget_->mutex_);
  if (!entry.linked_) return false;
  const bool installed = SetPlans(
      entry, std::make_shared<CodeEntry::Installed>(std::vector<CodeEntry::Installed::Version>{{{}, plan, bytes}}));
  if (installed) {
    entry.state_.store(CodeEntry::State::kCompiled);
  } else {
    Fail(entry);
  }
  garbage = CollectPlans();
  return installed;
}

bool CodeCache::Replace(CodeEntry& entry, const std::shared_ptr<const ExecutionPlan>& plan, size_t bytes) {
  Garbage garbage;
  std::lock_guard lock(budget_->mutex_);
  if (!entry.linked_ || entry.owner_ == nullptr) return false;
  auto versions = entry.owner_->versions();
  versions.front() = {{}, plan, bytes};
  const bool replaced = SetPlans(entry, std::make_shared<CodeEntry::Installed>(std::move(versions)));
  garbage = CollectPlans();
  return replaced;
}

bool CodeCache::InstallExact(CodeEntry& entry, const ExactShape& shape,
                             const std::shared_ptr<const ExecutionPlan>& plan, size_t bytes) {
  Garbage garbage;
  std::lock_guard lock(budget_->mutex_);
  if (!entry.linked_ || entry.owner_ == nullptr) return false;
  auto versions = entry.owner_->versions();
  std::erase_if(versions, [&](const auto& version) { return version.shape == shape; });
  if (versions.size() > kMaxExact) versions.erase(versions.begin() + 1);
  versions.push_back({shape, plan, bytes});
  const bool installed = SetPlans(entry, std::make_shared<CodeEntry::Installed>(std::move(versions)));
  garbage = CollectPlans();
  return installed;
}

void CodeCache::Postpone(CodeEntry& entry) {
  entry.due_.store(entry.calls() + settings_.compile_after);
  entry.state_.store(CodeEntry::State::kCold);
}

std::vector<std::shared_ptr<CodeEntry>> CodeCache::TakeCold() {
  std::vector<std::shared_ptr<CodeEntry>> taken;
  std::lock_guard lock(budget_->mutex_);
  for (const auto& entry : entries_) {
    CodeEntry::State cold = CodeEntry::State::kCold;
    if (entry->state_.compare_exchange_strong(cold, CodeEntry::State::kQueued)) taken.push_back(entry);
  }
  return taken;
}

std::shared_ptr<CodeEntry> CodeCache::Find(size_t method, const ArgumentSpec& spec) const {
  std::lock_guard lock(budget_->mutex_);
  const std::shared_ptr<Table>& table = methods_[method].owner;
  CodeEntry* entry = table == nullptr ? nullptr : table->Find(spec);
  return entry == nullptr ? nullptr : entry->shared_from_this();
}

bool CodeCache::TryDeoptimise(CodeEntry& entry, const ExecutionPlan& plan) {
  std::unique_lock lock(budget_->mutex_, std::try_to_lock);
  if (!lock.owns_lock() || entry.owner_ == nullptr || !entry.owner_->Has(plan)) return false;
  RemovePlan(entry);
  entry.due_.store(entry.calls() + settings_.compile_after);
  entry.state_.store(CodeEntry::State::kDeoptimised);
  return true;
}

bool CodeCache::TryInvalidate(CodeEntry& entry, const ExecutionPlan& plan) {
  std::unique_lock lock(budget_->mutex_, std::try_to_lock);
  if (!lock.owns_lock() || entry.owner_ == nullptr || !entry.owner_->Has(plan)) return false;
  if (entry.owner_->versions().front().plan.get() == &plan) {
    RemovePlan(entry);
    Fail(entry);
    return true;
  }
  auto versions = entry.owner_->versions();
  std::erase_if(versions, [&](const auto& version) { return version.plan.get() == &plan; });
  return SetPlans(entry, std::make_shared<CodeEntry::Installed>(std::move(versions)));
}

void CodeCache::Fail(CodeEntry& entry) {
  const unsigned attempts = entry.attempts_.fetch_add(1) + 1;
  const bool last = attempts >= settings_.max_attempts;
  entry.due_.store(last ? CodeEntry::kNever : entry.calls() + (settings_.compile_after << std::min(2 * attempts, 32U)));
  entry.state_.store(CodeEntry::State::kFailed);
}

bool CodeCache::MakeRoom(CodeCacheLimits more) {
  const auto fits = [&](const CodeCacheLimits& held, const CodeCacheLimits& limits) {
    return held.entries + more.entries <= limits.entries && held.bytes + more.bytes <= limits.bytes;
  };
  const CodeCacheLimits& all = budget_->limits_;
  // What can never fit shall not empty the cache first.
  if (!fits({0, 0}, settings_.limits) || !fits({0, 0}, all) || limbo_.size() > kMaxLimbo) return false;
  while (!fits(held_, settings_.limits)) {
    if (!EvictBatch()) return false;
  }
  while (!fits(budget_->held_, all)) {
    const bool by_entries = budget_->held_.entries + more.entries > all.entries;
    CodeCache* largest = *std::ranges::max_element(budget_->caches_, {}, [&](const CodeCache* cache) {
      return by_entries ? cache->held_.entries : cache->held_.bytes;
    });
    if (!largest->EvictBatch()) return false;
  }
  return true;
}

bool CodeCache::EvictBatch() {
  const size_t wanted = std::max<size_t>(1, entries_.size() / 8);
  std::vector<std::shared_ptr<CodeEntry>> evicted;
  // Twice around: what was used since it was last looked at goes in the second round at the earliest.
  for (size_t steps = 2 * entries_.size(); steps > 0 && !entries_.empty() && evicted.size() < wanted; --steps) {
    std::shared_ptr<CodeEntry> entry = std::move(entries_.front());
    entries_.pop_front();
    const bool stays = entry->state() == CodeEntry::State::kQueued || entry->used_.exchange(false);
    if (stays) {
      entries_.push_back(std::move(entry));
    } else {
      evicted.push_back(std::move(entry));
    }
  }
  Unlink(evicted);
  return !evicted.empty();
}

void CodeCache::Unlink(const std::vector<std::shared_ptr<CodeEntry>>& evicted) {
  // Tables without them, for the methods that had some.
  std::vector<std::shared_ptr<Table>> tables(methods_.size());
  for (const auto& entry : evicted) {
    std::shared_ptr<Table>& table = tables[entry->method()];
    if (table == nullptr) table = std::make_shared<Table>(methods_[entry->method()].owner->size());
  }
  for (const auto& entry : entries_) {
    if (Table* table = tables[entry->method()].get()) table->Add(entry.get());
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i] != nullptr) SetTable(methods_[i], std::move(tables[i]));
  }
  for (const auto& entry : evicted) {
    entry->linked_ = false;
    if (entry->owner_ != nullptr) RemovePlan(*entry);
    Release(1, entry->bytes());
    limbo_.Retire(entry);
  }
  evicted_ += evicted.size();
}

void CodeCache::AddToTable(CodeEntry& entry) {
  Method& method = methods_[entry.method()];
  if (method.owner == nullptr || method.owner->IsFull()) {
    auto table = std::make_shared<Table>(method.owner == nullptr ? 0 : method.owner->size());
    if (method.owner != nullptr) method.owner->CopyTo(table.get());
    SetTable(method, std::move(table));
  }
  method.owner->Add(&entry);
}

void CodeCache::SetTable(Method& method, std::shared_ptr<Table> table) {
  method.table.store(table.get());
  const std::shared_ptr<Table> old = std::exchange(method.owner, std::move(table));
  if (old != nullptr) limbo_.Retire(old);
}

bool CodeCache::SetPlans(CodeEntry& entry, std::shared_ptr<const CodeEntry::Installed> plans) {
  const size_t bytes = plans->bytes();
  if (!MakeRoom({0, bytes}) || !entry.linked_) {
    ++refused_;
    return false;
  }
  entry.plan_.store(plans.get());
  plans_ += plans->versions().size();
  Hold(0, bytes);
  const auto old = std::exchange(entry.owner_, std::move(plans));
  if (old == nullptr) return true;
  plans_ -= old->versions().size();
  Release(0, old->bytes());
  plans_limbo_.Retire(old);
  return true;
}

void CodeCache::RemovePlan(CodeEntry& entry) {
  entry.plan_.store(nullptr);
  plans_ -= entry.owner_->versions().size();
  Release(0, entry.owner_->bytes());
  plans_limbo_.Retire(std::exchange(entry.owner_, nullptr));
}

CodeCache::Garbage CodeCache::CollectPlans() {
  // Of all, for a cache whose model is not called any more would keep what it was made to give up.
  Garbage garbage;
  for (CodeCache* cache : budget_->caches_) {
    Garbage free = cache->plans_limbo_.Collect();
    std::ranges::move(free, std::back_inserter(garbage));
  }
  return garbage;
}

void CodeCache::Hold(size_t entries, size_t bytes) {
  for (CodeCacheLimits* held : {&held_, &budget_->held_}) *held = {held->entries + entries, held->bytes + bytes};
}

void CodeCache::Release(size_t entries, size_t bytes) {
  for (CodeCacheLimits* held : {&held_, &budget_->held_}) *held = {held->entries - entries, held->bytes - bytes};
}

CodeCache::Counters CodeCache::counters() const {
  std::lock_guard lock(budget_->mutex_);
  return {held_, plans_, evicted_, busy_.load(std::memory_order_relaxed), refused_};
}

std::vector<std::shared_ptr<const CodeEntry>> CodeCache::Entries() const {
  std::lock_guard lock(budget_->mutex_);
  return {entries_.begin(), entries_.end()};
}

std::vector<std::shared_ptr<const ExecutionPlan>> CodeCache::PlansOf(const CodeEntry& entry) const {
  std::vector<std::shared_ptr<const ExecutionPlan>> plans;
  std::lock_guard lock(budget_->mutex_);
  if (entry.owner_ == nullptr) return plans;
  for (const auto& version : entry.owner_->versions()) plans.push_back(version.plan);
  return plans;
}

}  // namespace hearth
