// The report of a failure in a model: every frame with its line in the archive's code, and, where the archive says so,
// the user's own line, in the shape that torch.jit prints.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "jit/interpreter/code.h"

namespace hearth {

// What prim::RaiseException throws.
struct RaisedException {
  std::string class_name;
  std::string message;
};

// One running function: where it is.
struct TracebackFrame {
  const Code* code;
  size_t instruction;
};

// Makes a ModelError of what an operator or the model threw; `frames` are outermost first. A CancelledError stays what
// it is.
std::exception_ptr WithTraceback(std::exception_ptr error, std::span<const TracebackFrame> frames);

}  // namespace hearth
