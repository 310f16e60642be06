// Tells LibTorch's CPU allocator (cpu_allocator.h) where the next tensor of a certain size shall lie, so that operators
// which allocate their results themselves, as most do, can be made to put them into memory that was planned
// (interpreter/arena.h).
//
// Of what an operator allocates meanwhile on the thread that called it, the first memory of exactly that many bytes
// lies there. If that is not its result, or it allocates none of that size, the result is where the allocator puts it:
// right in any case, and the place stays empty.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <utility>

namespace hearth {

// Holds for as long as it lives, on its thread. They nest; the innermost one counts.
class PlacedAllocation {
 public:
  PlacedAllocation(size_t bytes, c10::DataPtr place)
      : bytes_(bytes), place_(std::move(place)), outer_(std::exchange(current_, this)) {}
  ~PlacedAllocation() { current_ = outer_; }
  PlacedAllocation(const PlacedAllocation&) = delete;
  PlacedAllocation& operator=(const PlacedAllocation&) = delete;

  // For the allocator: the place, once, for so many bytes; null otherwise.
  static c10::DataPtr Take(size_t bytes) {
    if (current_ == nullptr || current_->bytes_ != bytes) return {};
    c10::DataPtr place = std::move(current_->place_);
    current_->place_.clear();  // a DataPtr that was moved from still points
    return place;
  }

 private:
  static inline thread_local constinit PlacedAllocation* current_ = nullptr;

  const size_t bytes_;
  c10::DataPtr place_;
  PlacedAllocation* const outer_;
};

}  // namespace hearth
