// A profile among the bytes of a profile file: the fingerprint of its baseline (8 bytes), the plans that were
// deoptimised (4), the values that are not to be guarded again (a count of 4 bytes, and 8 each), the runs that were
// seen (4), and of the values that they showed (a count of 4) each one's
//   number (8), runs (4), times (8), a byte of flags: None was seen, something else was
//   constant: a byte that says which kind, then an int or a float (8), a bool (1) or a string
//   facts: a byte for the kind of value; of a tensor a byte each for the dtype, the device's type and index and
//     requires_grad (kUnsaid where it is not known), flags (plain, order of dimensions, format), and its sizes:
//     their count (1; kUnsaid if that is not known) and 8 bytes each, -1 where it is not known
//   dimensions: their count (1), and of each whether it is always a multiple of 8 (1) and its symbol (8)
#pragma once

#include <cstddef>

#include "jit/executor/spec_profile.h"
#include "jit/profile_store/file_bytes.h"

namespace hearth {

// No profile takes fewer.
constexpr size_t kLeastProfileBytes = 8 + 4 + 4 + 4 + 4;

void PutProfile(const SpeculationProfile& profile, FileBytes& bytes);
// Throws ProfileFileError where the bytes are no profile.
SpeculationProfile TakeProfile(FileReader& reader);

}  // namespace hearth
