// What a profile says of the Values of a plan that is being made, for passes that speculate on it behind guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "jit/analysis/value_profile.h"

namespace hearth {

struct ProfiledValue {
  size_t number = 0;                       // ValuesInOrder of the baseline
  const ValueObservation* seen = nullptr;  // null: no run came by
  bool sizes_too = true;                   // may be guarded, beside the rest
};

struct ProfileClaims {
  std::unordered_map<size_t, ProfiledValue> values;  // that may be guarded, by their ids in the plan
  uint32_t least_runs = 8;                           // that must have come by
};

}  // namespace hearth
