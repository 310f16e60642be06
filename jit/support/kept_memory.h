// Large blocks of memory that tensors have freed, kept for the next tensors.
//
// malloc gives blocks beyond 32 MiB back to the system as soon as they are free. The next run of a model then pays for
// each of their pages once more, with a fault that fills it with zeros: a third of the time of mobilenet_v2 with
// batches of 8 or more. What is kept here is mapped already. Smaller blocks are better off with malloc, which gives one
// out for another while it is still in the processor's cache.
//
// Sizes are rounded up to classes a sixteenth apart, and a block serves its class alone: the sizes of a model's runs
// repeat themselves. What is kept is bounded in bytes; what was freed longest ago makes room. What nobody has wanted
// for kPatience is freed by a thread of its own, which sleeps while nothing is kept.
//
// A kept block counts for no MemoryAccount. Thread-safe; the lock is held for a few instructions, while a block takes
// milliseconds to be filled once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace hearth {

class KeptMemory {
 public:
  using Clock = std::chrono::steady_clock;

  // What malloc asks the system for whenever it is asked (glibc: M_MMAP_THRESHOLD never rises beyond).
  static constexpr size_t kLeastBytes = size_t{32} << 20;
  static constexpr std::chrono::seconds kPatience{10};

  // `free` gets what is not kept any longer.
  explicit KeptMemory(void (*free)(void*)) : free_(free) {}
  ~KeptMemory() { Release(); }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // How much to allocate where `bytes` are wanted, so that others can use it afterwards.
  size_t SizeFor(size_t bytes) const;
  // A block of at least so many bytes; null if none is kept.
  void* Take(size_t bytes);
  // Takes over a block of so many bytes, or frees it. `now` is when.
  void Give(void* memory, size_t bytes, Clock::time_point now = Clock::now());

  // Nothing is kept until there is a limit. Frees what is beyond.
  void SetLimit(size_t bytes);
  // Frees what was given before that.
  void Release(Clock::time_point before = Clock::time_point::max());
  size_t bytes() const;

  // Releases what has waited for longer than kPatience, again and again: the body of a thread that never ends.
  [[noreturn]] void KeepTime();

 private:
  // Lies in the memory that it is about.
  struct Block {
    Block* older;
    Block* newer;
    Block* below;  // of the same class, given before
    Block* above;
    size_t size_class;
    Clock::time_point given;
  };
  static constexpr size_t kClasses = 16 * 23;  // up to 2^48 bytes

  static size_t ClassBelow(size_t bytes);
  static size_t SizeOf(size_t size_class);
  void Add(Block* block);
  void Remove(Block* block);
  // Takes out the oldest ones for as long as there is too much, or they are older than that; a chain by `newer`.
  Block* TakeOut(size_t limit, Clock::time_point before);
  void FreeAll(Block* chain) const;

  void (*const free_)(void*);
  std::atomic<size_t> limit_{0};
  mutable std::mutex mutex_;
  std::condition_variable kept_some_;
  size_t bytes_ = 0;
  Block* oldest_ = nullptr;
  Block* newest_ = nullptr;
  std::array<Block*, kClasses> top_{};  // the newest of each class
};

}  // namespace hearth
