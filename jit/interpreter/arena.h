// Memory that runs of one plan use one after the other: what passes/plan_memory found to be small, of known sizes and
// gone when the run has ended. A run's tensors lie in one piece of memory at offsets that the plan has, ready made:
// operators compute into them, and neither a tensor nor memory is allocated or freed.
//
// An arena serves one run at a time. It is used again only if the run left nothing in it that somebody still refers to,
// be it that the run went on in the baseline, which may keep what the plan would not: then it goes as soon as that
// does. A run's arena counts for the run's memory account.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hearth {

struct ArenaLayout {
  struct Slot {
    size_t offset;  // in bytes
    c10::ScalarType dtype;
    std::vector<int64_t> sizes;
    bool operator==(const Slot&) const = default;
  };
  std::vector<Slot> slots;
  size_t bytes() const;
};

// Used by one thread at a time.
class Arena {
 public:
  explicit Arena(const ArenaLayout& layout);
  const c10::IValue& tensor(size_t slot) const { return tensors_[slot]; }
  // Whether nobody else refers to a tensor of it or to its memory.
  bool IsFree() const;

 private:
  c10::Storage storage_;
  std::vector<c10::IValue> tensors_;
};

// A plan's. Thread-safe, without locks.
class Arenas {
 public:
  // So many are kept between runs.
  static constexpr size_t kMost = 8;

  explicit Arenas(ArenaLayout layout) : layout_(std::move(layout)), bytes_(layout_.bytes()) {}
  ~Arenas();
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  // Throws MemoryLimitError if the thread's account has no room for it.
  std::unique_ptr<Arena> Take() const;
  void Give(std::unique_ptr<Arena> arena) const;

  // Of one.
  size_t bytes() const { return bytes_; }
  const ArenaLayout& layout() const { return layout_; }

 private:
  const ArenaLayout layout_;
  const size_t bytes_;
  mutable std::array<std::atomic<Arena*>, kMost> kept_{};
};

}  // namespace hearth
