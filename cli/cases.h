// Many runs in one process. Each line of the file is a run of its own, as if in its own process: the archive is loaded
// for it, so that no state goes from one to the next.
//
//   ARCHIVE <tab> INPUTS.pt <tab> OUTPUT.pt [<tab> METHOD]
//
// An empty OUTPUT (or "-") writes nothing. For each line, also an empty one, one line is printed and flushed:
//   ok
//   raised MESSAGE    the model raised: class and message
//   bad MESSAGE       the line, a file or the arguments are no good
// with newlines and other control characters of MESSAGE escaped as in C. No case ends the batch.
#pragma once

#include <string>

#include "cli/session.h"

namespace hearth::cli {

// Reads "-" from the standard input. Gives kSuccess if every line was taken, whatever came of it.
int RunCases(const std::string& path, const SessionOptions& options);

}  // namespace hearth::cli
