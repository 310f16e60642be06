// A kind of arguments that a method of a model was called with, and what its runs were seen to do, as it outlives the
// process and the load of the archive.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "jit/analysis/stored_spec.h"
#include "jit/analysis/value_profile.h"

namespace hearth {

struct KnownProfile {
  uint64_t baseline = 0;     // FingerprintOf the graph that the numbers are of
  uint32_t retired = 0;      // plans that took for granted what did not hold
  std::set<size_t> refuted;  // numbers of values that are not to be guarded again
  ValueProfile seen;
};

struct KnownArguments {
  std::string method;  // its qualified name
  uint64_t calls = 0;
  StoredSpec spec;
  std::optional<KnownProfile> profile = std::nullopt;
};

}  // namespace hearth
