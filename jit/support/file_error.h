// The file itself is the trouble: it does not exist, may not be read or written, or is no regular file.
#pragma once

#include <string>

#include "jit/support/errors.h"

namespace hearth {

class FileError : public ArchiveError {
 public:
  FileError(const std::string& message, int error_number) : ArchiveError(message), error_number_(error_number) {}
  // The system's errno, e.g. ENOENT.
  int error_number() const { return error_number_; }

 private:
  int error_number_;
};

}  // namespace hearth
