// hearthd's command line: a flag for each setting (proto/settings.proto), flags of Triton's that are none
// (triton_flags.h), --config, --check, --help, --version and what prints the tables of the documents. A flag wins over
// the file; of a flag that is given twice the last one counts, or all where a setting is a list.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/settings.pb.h"

namespace hearth::server {

// What a command line asks for: to serve with these settings, to print a text and end, or to check these settings.
struct CommandLine {
  config::Settings settings = {};          // complete (CompleteSettings), but where there are problems
  std::vector<std::string> warnings = {};  // of flags and settings without effect
  std::string summary = {};                // NonDefaultSettings of what was given
  std::string print = {};                  // serve if empty
  bool check = false;                      // do not serve, but say what is wrong:
  std::vector<std::string> problems = {};  // with the settings, where they are to be checked
};

// kInvalidArgument with one clear line for a flag, a setting or a value that is wrong.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace hearth::server
