// What calls of one method with arguments of one ArgumentSpec were like and what their runs were seen to do, as it
// outlives the process and the load of the archive.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/analysis/stored_spec.h"
#include "jit/analysis/value_profile.h"

namespace hearth {

// What plans may speculate on.
struct SpeculationProfile {
  uint64_t baseline = 0;         // FingerprintOf the graph that the numbers are of
  uint32_t deoptimisations = 0;  // plans that speculated on what did not hold
  std::set<size_t> deoptimised;  // numbers of values that are not to be guarded again
  ValueProfile seen;
};

// A shape of all tensors among the arguments.
struct StoredShape {
  static constexpr size_t kMost = 8;  // of one spec

  std::vector<int64_t> numbers;  // ExactShape's
  uint64_t calls = 0;
  bool exact = false;  // called often enough for a plan of its own
  bool operator==(const StoredShape&) const = default;
};

struct SpecProfile {
  std::string method;  // its qualified name
  uint64_t calls = 0;  // 0: it is not worth being kept any more
  StoredSpec spec;
  std::vector<StoredShape> shapes = {};  // those called most, the most called first
  std::optional<SpeculationProfile> speculation = std::nullopt;

  bool HasSameSpec(const SpecProfile& other) const { return method == other.method && spec == other.spec; }
  // As the next process counts it, so that what is not called any more is forgotten.
  void CountHalf() {
    calls /= 2;
    for (StoredShape& shape : shapes) {
      shape.calls /= 2;
      shape.exact &= shape.calls > 0;
    }
  }
};

}  // namespace hearth
