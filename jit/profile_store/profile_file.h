// What is kept on disk of a model from one process to the next: the argument specs that its methods were called
// with, how often, and what runs with them were seen to do. The bytes of a file, and what they say.
//
//   "HEARTHPL"  format (4 bytes)  CRC-32 of all that follows (4)  how many bytes follow (8)
//   the key, what the file belongs to: length (4), bytes
//   sections: number (4), length (8), bytes
// All little-endian. A reader skips sections whose numbers it does not know; what a section holds never changes its
// form, it gets another number. Section 1 is the specs: their count (4), and of each the method's name, the calls (8),
// the spec's classes (a count and names) and words (a count and 8 bytes each); counts are of 4 bytes, a string is a
// count and its bytes. Section 2 is the profiles, of as many specs as there is room for (speculation_bytes.h): their
// count, and of each the place of its spec in section 1 (4) and the profile. Section 3 is the shapes that were called
// most, of as many specs as there is room for: how many specs, and of each its place in section 1 (4) and its shapes,
// each with its calls (8), whether it had a plan of its own (1) and its numbers (8 bytes each); counts as above.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/executor/spec_profile.h"
#include "jit/profile_store/file_bytes.h"

namespace hearth {

// A larger one is not read.
constexpr uint64_t kMaxProfileFileBytes = uint64_t{4} << 20;

std::string WriteProfileFile(std::string_view key, const std::vector<SpecProfile>& profiles);
// Trusts nothing: throws ProfileFileError, whatever the bytes are. The specs' words and the shapes' numbers are as they
// stand there; StoredSpec::Restore and ExactShape::Restore check them. Whether a profile is of the graph that it says
// it is, nobody can tell: what it claims is guarded, and only where it fits the Values' types.
std::vector<SpecProfile> ReadProfileFile(std::string_view key, std::string_view bytes);

}  // namespace hearth
