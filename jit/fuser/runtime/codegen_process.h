// A helper process that makes machine code of kernels (image/codegen_protocol.h). It inherits nothing but a socket and
// the standard error, runs at the least of the usual priorities, and ends when this does. What it uses of the processor
// while this waits counts as the waiting thread's (support/processor_time.h).
//
// Used by one thread at a time. Throws CodegenError where the helper cannot be started or has ended, answers in another
// language, or takes longer than it may; it is then of no more use.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/fuser/image/codegen_protocol.h"

namespace hearth::fuser {

class CodegenError : public std::runtime_error {
 public:
  enum class Cause {
    kNotStarted,
    kEnded,    // somebody killed it, or it ended by itself: nothing that the kernel did
    kStalled,  // it does not get to run
    kCrashed,  // at the kernel, as far as one can tell
    kTooSlow,  // it took more processor time than it may
  };
  CodegenError(Cause cause, const std::string& message) : std::runtime_error(message), cause_(cause) {}

  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

class CodegenProcess {
 public:
  // `environment`: variables, "NAME=value", beside those of this process.
  explicit CodegenProcess(const std::string& path, const std::vector<std::string>& environment = {});
  // Ends it.
  ~CodegenProcess();
  CodegenProcess(const CodegenProcess&) = delete;
  CodegenProcess& operator=(const CodegenProcess&) = delete;

  // Then the answer is waited for, for no more than so much of its processor time, nor ten times as long.
  void Ask(const CodegenRequest& request, std::chrono::duration<double> patience);
  // Waits a few milliseconds.
  bool HasAnswer();
  CodegenAnswer TakeAnswer();

  // The helper stands still while this lives.
  class Pause {
   public:
    explicit Pause(CodegenProcess& process);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    CodegenProcess& process_;
    const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  };

 private:
  // Ends it, if it has not ended, and says how it did: for whoever could not talk to it, which says `what`.
  CodegenError HowItEnded(const std::string& what);
  int Reap();

  pid_t pid_ = -1;       // none once it is reaped
  clockid_t clock_ = 0;  // its processor time
  int socket_ = -1;      // its standard input and output
  std::chrono::duration<double> used_{0}, may_use_{0};
  std::chrono::steady_clock::time_point give_up_;
};

}  // namespace hearth::fuser
