// How the command line says that something failed: the exit codes that scripts rely on, and one clear line on stderr.
// Thread-safe; owns nothing.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hearth::cli {

// The process's exit codes. A contract: scripts tell the three apart.
inline constexpr int kSuccess = 0;
inline constexpr int kModelRaised = 1;  // the model ran and raised
inline constexpr int kBadUse = 2;       // the archive, an argument, a file or an address is no good

// Whether a call failed inside the model, for want of memory too, as against arguments that do not fit it.
bool ModelRaised(const absl::Status& status);

// The last part of a TorchScript traceback, "builtins.ValueError: too small": the class and message alone. A status
// without a traceback gives its message.
std::string RaisedMessage(const absl::Status& status);

// `text` on one line: for people, a compile error's lines joined without its caret.
std::string OneLine(std::string_view text);
// `text` on one line: for programs, backslash and control characters escaped as in C.
std::string EscapeLine(std::string_view text);

// Prints `hearth COMMAND: MESSAGE` on stderr. Gives kBadUse.
int FailWithLine(std::string_view command, std::string_view message);
// Prints the traceback of a model that raised, as it is, or a line for anything else. Gives the exit code that fits.
int FailWithStatus(std::string_view command, const absl::Status& status);

}  // namespace hearth::cli
