#include "jit/support/kept_memory.h"

#include <bit>
#include <cstdint>
#include <new>
#include <thread>
#include <utility>

namespace hearth {
namespace {

constexpr size_t kSteps = 16;  // classes between a power of two and the next
constexpr int kLeastPower = std::countr_zero(KeptMemory::kLeastBytes);

}  // namespace

size_t KeptMemory::ClassBelow(size_t bytes) {
  const int power = std::bit_width(bytes) - 1;
  const size_t first = size_t{1} << power;
  return static_cast<size_t>(power - kLeastPower) * kSteps + (bytes - first) / (first / kSteps);
}

size_t KeptMemory::SizeOf(size_t size_class) {
  const size_t first = kLeastBytes << (size_class / kSteps);
  return first + size_class % kSteps * (first / kSteps);
}

size_t KeptMemory::SizeFor(size_t bytes) const {
  if (bytes < kLeastBytes || limit_.load(std::memory_order_relaxed) == 0) return bytes;
  const size_t size_class = ClassBelow(bytes);
  if (size_class + 1 >= kClasses) return bytes;
  const size_t size = SizeOf(size_class);
  return size == bytes ? size : SizeOf(size_class + 1);
}

void* KeptMemory::Take(size_t bytes) {
  if (bytes < kLeastBytes || limit_.load(std::memory_order_relaxed) == 0) return nullptr;
  const size_t size_class = ClassBelow(SizeFor(bytes));
  if (size_class >= kClasses) return nullptr;
  const std::lock_guard lock(mutex_);
  Block* block = top_[size_class];
  if (block != nullptr) Remove(block);
  return block;
}

void KeptMemory::Give(void* memory, size_t bytes, Clock::time_point now) {
  const size_t limit = limit_.load(std::memory_order_relaxed);
  const size_t size_class = bytes < kLeastBytes ? kClasses : ClassBelow(bytes);
  if (size_class >= kClasses || SizeOf(size_class) > limit) return free_(memory);
  Block* removed;
  {
    const std::lock_guard lock(mutex_);
    removed = TakeOut(limit - SizeOf(size_class), Clock::time_point::min());
    Add(new (memory) Block{.size_class = size_class, .given = now});
  }
  kept_some_.notify_one();
  FreeAll(removed);
}

void KeptMemory::SetLimit(size_t bytes) {
  limit_.store(bytes, std::memory_order_relaxed);
  Block* removed;
  {
    const std::lock_guard lock(mutex_);
    removed = TakeOut(bytes, Clock::time_point::min());
  }
  FreeAll(removed);
}

void KeptMemory::Release(Clock::time_point before) {
  Block* removed;
  {
    const std::lock_guard lock(mutex_);
    removed = TakeOut(SIZE_MAX, before);
  }
  FreeAll(removed);
}

size_t KeptMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void KeptMemory::KeepTime() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      kept_some_.wait(lock, [&] { return oldest_ != nullptr; });
      const Clock::time_point due = oldest_->given + kPatience;
      lock.unlock();
      std::this_thread::sleep_until(due);
    }
    Release(Clock::now() - kPatience);
  }
}

void KeptMemory::Add(Block* block) {
  block->older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = block;
  newest_ = block;
  Block*& top = top_[block->size_class];
  block->below = top;
  if (top != nullptr) top->above = block;
  top = block;
  bytes_ += SizeOf(block->size_class);
}

void KeptMemory::Remove(Block* block) {
  (block->older != nullptr ? block->older->newer : oldest_) = block->newer;
  (block->newer != nullptr ? block->newer->older : newest_) = block->older;
  if (block->below != nullptr) block->below->above = block->above;
  (block->above != nullptr ? block->above->below : top_[block->size_class]) = block->below;
  bytes_ -= SizeOf(block->size_class);
}

KeptMemory::Block* KeptMemory::TakeOut(size_t limit, Clock::time_point before) {
  Block* chain = nullptr;
  while (oldest_ != nullptr && (bytes_ > limit || oldest_->given < before)) {
    Block* block = oldest_;
    Remove(block);
    block->newer = std::exchange(chain, block);
  }
  return chain;
}

void KeptMemory::FreeAll(Block* chain) const {
  while (chain != nullptr) free_(std::exchange(chain, chain->newer));
}

}  // namespace hearth
