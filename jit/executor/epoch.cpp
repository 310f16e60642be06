#include "jit/executor/epoch.h"

#include <algorithm>
#include <limits>

namespace hearth {

// Belongs to a thread while that lives, then to another; never freed.
struct alignas(64) EpochSlot {
  std::atomic<uint64_t> epoch{0};  // 0: not reading
  std::atomic<bool> taken{true};
  EpochSlot* next = nullptr;
  unsigned number = 0;
};

namespace {

std::atomic<uint64_t> current_epoch{1};
std::atomic<EpochSlot*> slots{nullptr};

EpochSlot* TakeSlot() {
  for (EpochSlot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    bool taken = false;
    if (slot->taken.compare_exchange_strong(taken, true)) return slot;
  }
  auto* slot = new EpochSlot;
  slot->next = slots.load();
  do {
    slot->number = slot->next == nullptr ? 0 : slot->next->number + 1;
  } while (!slots.compare_exchange_weak(slot->next, slot));
  return slot;
}

constinit thread_local EpochSlot* slot_of_thread = nullptr;

struct SlotOwner {
  ~SlotOwner() { std::exchange(slot_of_thread, nullptr)->taken.store(false); }
};

EpochSlot* SlotOfThread() {
  if (slot_of_thread == nullptr) {
    slot_of_thread = TakeSlot();
    static thread_local SlotOwner owner;
  }
  return slot_of_thread;
}

}  // namespace

EpochReader::EpochReader() : slot_(SlotOfThread()) {
  outermost_ = slot_->epoch.load(std::memory_order_relaxed) == 0;
  // A stale epoch delays reclamation and harms nothing else. An exchange, for it orders the announcement before the
  // reads that follow.
  if (outermost_) slot_->epoch.exchange(current_epoch.load(std::memory_order_acquire));
}

EpochReader::~EpochReader() {
  if (outermost_) slot_->epoch.store(0, std::memory_order_release);
}

unsigned EpochReader::thread_number() const { return slot_->number; }

void EpochLimbo::Retire(std::shared_ptr<const void> object) {
  retired_.emplace_back(current_epoch.fetch_add(1) + 1, std::move(object));
}

std::vector<std::shared_ptr<const void>> EpochLimbo::Collect() {
  std::vector<std::shared_ptr<const void>> free;
  if (retired_.empty()) return free;
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const EpochSlot* slot = slots.load(); slot != nullptr; slot = slot->next) {
    const uint64_t epoch = slot->epoch.load();
    if (epoch != 0) oldest = std::min(oldest, epoch);
  }
  const auto kept = std::ranges::find_if(retired_, [&](const auto& retired) { return retired.first > oldest; });
  for (auto it = retired_.begin(); it != kept; ++it) free.push_back(std::move(it->second));
  retired_.erase(retired_.begin(), kept);
  return free;
}

}  // namespace hearth
