// What the machine code of kernels follows from beside their text, in words that are the same as long as the code would
// be: the version of hearth, the helper's build, and the processor as far as a compiler asks it.
#pragma once

#include <string>

namespace hearth::fuser {

// Of code that `helper`, a program, makes for `target` (image/codegen_protocol.h). Empty where the helper's build
// cannot be told from others: code is then not to be kept.
std::string CodeOrigin(const std::string& helper, const std::string& target);

// The build-id of an ELF file of 64 bits, in hexadecimal; empty if there is none.
std::string BuildIdOf(const std::string& path);

}  // namespace hearth::fuser
