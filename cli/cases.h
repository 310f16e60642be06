// Many runs in one process. Each line of the file is a run of its own, as if in its own process: the archive is loaded
// for it, so that no state goes from one to the next. With `keep_loaded`, lines in a row that name one archive are
// calls of one loaded module, state and all.
//
//   ARCHIVE <tab> INPUTS.pt <tab> OUTPUT.pt [<tab> METHOD [<tab> SEED [<tab> GUARD]]]
//
// An empty OUTPUT (or "-") writes nothing, an empty METHOD is the module itself, and a SEED that of the random
// operators. GUARD, with --fail-guards, is the number of the guard that fails, of so many as each plan has; a line with
// one is answered by two, of which the first says what came of it:
//   plans N guards N bailouts N unexplained N invalidated N JSON
// These are plans that there are, guards of the one that has most, and of the model since it was loaded: runs that left
// a plan for the baseline; of those, runs that did so for an exception that the plan alone raised; and plans that are
// not used any more because they did so too often. The JSON is an array with an object for each place that raised so:
// {"method", "arguments", "tier", "operator", "node", "where", "exception", "runs"}.
// With --profiled, but without `keep_loaded`, each line is run twice, each time in a module of its own: the first run
// is watched, the second one, whose answer it is, speculates on what the first one showed. For each line, also an
// empty one, one line is printed and flushed:
//   ok
//   raised MESSAGE    the model raised: class and message
//   bad MESSAGE       the line, a file or the arguments are no good
// with newlines and other control characters of MESSAGE escaped as in C. No case ends the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/session.h"

namespace hearth::cli {

struct CasesOptions {
  std::string path;             // "-" is the standard input
  bool with_arguments = false;  // each output holds the arguments too, also where the model raised
  bool keep_loaded = false;
  std::optional<uint64_t> seed;  // for lines without one
  SessionOptions session;
};

// Gives kSuccess if every line was taken, whatever came of it.
int RunCases(const CasesOptions& options);

}  // namespace hearth::cli
