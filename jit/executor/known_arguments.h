// A kind of arguments that a method of a model was called with, as it outlives the process and the load of the archive.
#pragma once

#include <cstdint>
#include <string>

#include "jit/analysis/stored_spec.h"

namespace hearth {

struct KnownArguments {
  std::string method;  // its qualified name
  uint64_t calls = 0;
  StoredSpec spec;
};

}  // namespace hearth
