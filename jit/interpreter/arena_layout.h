// Which results of a plan share memory, and where they lie, for any sizes: a plan's prim::Arena as the interpreter has
// it (passes/plan_memory.h decides).
//
// The plan knows which places must not overlap: it says of each over which others it lies. Sizes, and from them
// offsets, are computed of a run's numbers (sizes of its arguments, ints) when an arena is made for them: a place
// begins where the highest of those below it ends. What is empty for these numbers, or of a size of which nothing can
// be said, has no memory there.
//
// Immutable once made.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

struct ArenaLayout {
  // Numbers are counted: first the run's own, then what each step gives.
  struct Step {
    enum class Kind : uint8_t { kConstant, kAdd, kMultiply, kDivide, kRemainder };
    Kind kind;
    int64_t a;  // of a constant it, otherwise which number
    int64_t b;  // which number
  };
  struct Place {
    c10::ScalarType dtype;
    std::vector<uint32_t> sizes;  // which numbers
    std::vector<uint32_t> over;   // which places; earlier ones
    bool has_tensor = true;       // ready made; else the operator that has its result there makes it
  };
  uint32_t num_given = 0;
  std::vector<Step> steps;
  std::vector<Place> places;
  size_t likely_bytes = 0;

  // A number that cannot be told: it does not fit into 64 bits, or is of a division by zero.
  static constexpr int64_t kNoNumber = INT64_MIN;
  // Of the numbers that a run gives, all.
  void Compute(std::span<const int64_t> given, std::vector<int64_t>* numbers) const;

  struct Extent {
    size_t offset;
    size_t bytes;  // of its tensor; 0: it has no memory
  };
  // Of places; how many bytes they take together.
  size_t Arrange(std::span<const int64_t> numbers, std::vector<Extent>* extents) const;
};

}  // namespace hearth
