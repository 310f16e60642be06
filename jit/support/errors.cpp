#include "jit/support/errors.h"

namespace hearth {

CompileError::CompileError(const SourceRange& range, const std::string& message)
    : std::runtime_error(range.source ? message + "\n" + range.Highlight() : message),
      message_(message),
      range_(range) {}

}  // namespace hearth
