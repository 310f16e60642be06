// An object file of this back end's own making → one block of bytes. Lays the sections with code and constants one
// after the other and fills in the references between them, which are relative to the instruction. Sections that are
// not loaded (debug information, notes) are left out.
//
// Throws LinkError where the object refers to a symbol outside of itself, has memory to be written, or has a relocation
// that depends on where the block is: nothing else is then right, either.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth::fuser {

class LinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LinkedBlock {
  std::string bytes;
  std::map<std::string, uint32_t> functions;  // the global ones: offsets by name
};

// `object` is a relocatable ELF file for x86-64.
LinkedBlock LinkObject(std::string_view object);

}  // namespace hearth::fuser
