// A kind of arguments that a method of a model was called with, and what its runs were seen to do, as it outlives the
// process and the load of the archive.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/analysis/stored_spec.h"
#include "jit/analysis/value_profile.h"

namespace hearth {

struct KnownProfile {
  uint64_t baseline = 0;     // FingerprintOf the graph that the numbers are of
  uint32_t retired = 0;      // plans that took for granted what did not hold
  std::set<size_t> refuted;  // numbers of values that are not to be guarded again
  ValueProfile seen;
};

// A shape of all tensors among the arguments.
struct KnownShape {
  static constexpr size_t kMost = 8;  // of one kind of arguments

  std::vector<int64_t> numbers;  // ExactShape's
  uint64_t calls = 0;
  bool exact = false;  // called often enough for a plan of its own
  bool operator==(const KnownShape&) const = default;
};

struct KnownArguments {
  std::string method;  // its qualified name
  uint64_t calls = 0;  // 0: it is not worth being known any more
  StoredSpec spec;
  std::vector<KnownShape> shapes = {};  // those called most, the most called first
  std::optional<KnownProfile> profile = std::nullopt;

  bool IsOfKind(const KnownArguments& other) const { return method == other.method && spec == other.spec; }
  // As the next process counts it, so that what is not called any more is forgotten.
  void CountHalf() {
    calls /= 2;
    for (KnownShape& shape : shapes) {
      shape.calls /= 2;
      shape.exact &= shape.calls > 0;
    }
  }
};

}  // namespace hearth
