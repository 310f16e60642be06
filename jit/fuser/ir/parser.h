// Text → Kernel: reads what printer.h writes, whose grammar is there. The text may come from outside: whatever it is,
// it gives a Kernel or a ParseError, in time and memory linear in its length, and no deeper recursion than
// kMaxLoopDepth. Whether the Kernel is well-formed is verifier.h's question; num_values is how many definitions the
// text has.
//
// Constants are rounded to their dtype. Thread-safe.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// what() is "<line>:<column>: expected ..., found ...".
class ParseError : public std::runtime_error {
 public:
  ParseError(size_t line, size_t column, const std::string& message)
      : std::runtime_error(std::to_string(line) + ":" + std::to_string(column) + ": " + message),
        line_(line),
        column_(column) {}

  // From 1.
  size_t line() const { return line_; }
  size_t column() const { return column_; }

 private:
  size_t line_;
  size_t column_;
};

Kernel Parse(std::string_view text);

}  // namespace hearth::fuser
