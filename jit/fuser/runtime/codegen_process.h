// A helper process that makes machine code of kernels (image/codegen_protocol.h). It inherits nothing but a
// socket and the standard error, and ends when this does.
//
// Used by one thread at a time. Throws std::runtime_error where the helper cannot be started or has ended, answers in
// another language, or takes longer than it may; it is then of no more use.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "jit/fuser/image/codegen_protocol.h"

namespace hearth::fuser {

class CodegenProcess {
 public:
  explicit CodegenProcess(const std::string& path);
  // Ends it.
  ~CodegenProcess();
  CodegenProcess(const CodegenProcess&) = delete;
  CodegenProcess& operator=(const CodegenProcess&) = delete;

  CodegenAnswer Ask(const CodegenRequest& request, std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  int socket_ = -1;  // its standard input and output
};

}  // namespace hearth::fuser
