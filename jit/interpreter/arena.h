// Memory that runs of one plan use one after the other: for what passes/plan_memory found to be of known sizes and gone
// when the run has ended. A run's tensors lie in one piece of memory where the plan's ArenaLayout says. Small ones are
// ready made: operators compute into them, and neither a tensor nor memory is allocated or freed. Larger ones are made
// by their operators, whose allocation is given its place (support/placed_allocation.h). Each tensor has a Storage of
// its own, as it would have outside of an arena: what looks at storages and offsets in them sees no difference.
//
// An arena is for the numbers that a run brings along, on which sizes depend. Some are kept for the runs that follow,
// of whatever numbers. A run of others than those gets the arena that was not used for longest, whose tensors are given
// other sizes: that costs less than to make them, so that a batch size that is another one in each call does no harm.
//
// A small arena keeps its memory. A large one (support/arena_limits.h) has it from the allocator for each run, so that
// what is idle is the allocator's to give to others, to bound and to release (support/kept_memory.h). If a run's memory
// account has no room for it, the run has its tensors made one by one: it may end before it needs all of them.
//
// A thread's runs use the same arena again and again where they can: what it holds is in that processor's cache, and no
// other processor looks for its own one there.
//
// An arena serves one run at a time. It is used again only if the run left nothing in it that somebody still refers to,
// and if the plan ran to its end: the baseline, which goes on for a plan that bails out, may keep what the plan would
// not, and give it another shape or storage. Then its memory goes as soon as the last of its tensors does. What a run's
// numbers need of its arena counts for the run's memory account.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Allocator.h>
#include <c10/util/intrusive_ptr.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/interpreter/arena_layout.h"
#include "jit/support/arena_limits.h"

namespace hearth {

class MemoryAccount;

// Used by one thread at a time; refers to its layout.
class Arena {
 public:
  // `count` is how many there are.
  Arena(const ArenaLayout& layout, std::atomic<size_t>* count);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Before anything else, and whenever it is free.
  void FitTo(std::span<const int64_t> given);
  // Before each run, for whose account it counts: it has memory from here on, or none at all, for want of room there.
  // Throws MemoryLimitError if there is not even room for a small one.
  void Acquire();
  // After the run, if it is free.
  void Release();
  // After the run, if it is not: what the run still refers to counts for its account as that is freed.
  void Leave();
  // What it fits.
  std::span<const int64_t> given() const { return std::span(numbers_).first(layout_.num_given); }
  // What that needs, and what it has from earlier ones.
  size_t bytes() const { return bytes_; }
  size_t capacity() const { return memory_ ? memory_->bytes : 0; }
  bool keeps_memory() const { return bytes_ <= kMostBytesKept; }

  // The tensor of a place that has one ready; None if there is no memory for it. Then Make makes one.
  const c10::IValue& tensor(size_t place) const { return tensors_[place]; }
  at::Tensor Make(size_t place) const;
  // For the operator that makes the tensor of a place; null if there is no memory for it.
  size_t bytes_of(size_t place) const { return extents_[place].bytes; }
  at::DataPtr memory_of(size_t place) const {
    return memory_ && extents_[place].bytes != 0 ? PartAt(extents_[place].offset) : at::DataPtr();
  }
  // Whether nobody else refers to a tensor of it or to its memory.
  bool IsFree() const;

 private:
  // Lives as long as the arena or a storage in it.
  struct Memory : c10::intrusive_ptr_target {
    size_t bytes = 0;
    at::DataPtr data;  // null while the arena has none
  };

  void Allocate(MemoryAccount* account);
  void GoWithout();
  void SetTensors();
  void SetTensor(size_t place);
  at::DataPtr PartAt(size_t offset) const;

  const ArenaLayout& layout_;
  std::atomic<size_t>* const count_;
  std::vector<int64_t> numbers_;
  std::vector<ArenaLayout::Extent> extents_;
  size_t bytes_ = 0;
  c10::intrusive_ptr<Memory> memory_;  // null where the run makes its tensors one by one
  std::optional<void*> tensors_at_;    // where the memory was that they are set to; null: they are not set
  std::vector<c10::IValue> tensors_;
};

// A plan's. Thread-safe, without locks.
class Arenas {
 public:
  // So many are kept between runs.
  static constexpr size_t kMost = 8;

  explicit Arenas(ArenaLayout layout) : layout_(std::move(layout)) {}
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  // Throws MemoryLimitError if the thread's account has no room for a small one.
  std::unique_ptr<Arena> Take(std::span<const int64_t> given) const;
  void Give(std::unique_ptr<Arena> arena) const;
  // Instead of Give: what the run still refers to is its own from here on, to be changed in any way.
  void Leave(std::unique_ptr<Arena> arena) const;

  const ArenaLayout& layout() const { return layout_; }
  // Between runs of the sizes that are likely, at most.
  size_t likely_bytes_kept() const { return layout_.likely_bytes <= kMostBytesKept ? kMost * layout_.likely_bytes : 0; }

 private:
  // Of an arena that is kept: the hash of what it fits (or of what one before it fitted), and when it was given back.
  // Each on a cache line of its own.
  struct alignas(64) Kept {
    std::atomic<Arena*> arena{nullptr};
    std::atomic<uint64_t> hash{0};
    std::atomic<uint64_t> time{0};
  };

  // The kept ones, from the one that the calling thread looks at first.
  Kept& FromOwn(size_t i) const;
  std::unique_ptr<Arena> Find(std::span<const int64_t> given) const;
  std::unique_ptr<Arena> TakeOldest() const;
  void Keep(std::unique_ptr<Arena> arena) const;

  const ArenaLayout layout_;
  mutable std::array<Kept, kMost> kept_;
  mutable std::atomic<size_t> made_{0};  // that there are
};

}  // namespace hearth
