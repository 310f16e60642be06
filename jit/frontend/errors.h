// Errors of the front end beyond support/errors.h.
#pragma once

#include <string>
#include <utility>

#include "jit/support/errors.h"

namespace hearth {

// A call names an operator that this build does not have. The importer collects these over an archive.
class UnknownOperatorError : public CompileError {
 public:
  UnknownOperatorError(const SourceRange& range, std::string name, const std::string& message)
      : CompileError(range, message), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

[[noreturn]] inline void Fail(const SourceRange& range, const std::string& message) {
  throw CompileError(range, message);
}

}  // namespace hearth
