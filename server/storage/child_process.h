// Another program, run to its end.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

struct ProgramOutput {
  int status = 0;      // as the program exits with it; 128 and the signal if one ended it
  std::string output;  // of its standard output, whole
  std::string errors;  // of its standard error, the last kilobytes
};

// Runs the program that `arguments[0]` names, looked for in PATH, with this process's environment but for the variables
// in `without`. It has no input and none of this process's open files. kNotFound where there is no such program,
// kCancelled if `stop` is requested (the program is killed), kResourceExhausted if it writes more than `most_output`
// bytes. Blocks until the program has ended; thread-safe.
absl::StatusOr<ProgramOutput> RunProgram(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& without, size_t most_output,
                                         const std::stop_token& stop);

}  // namespace hearth::server
