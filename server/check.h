// hearthd --check: whether hearthd would start with these settings and serve every model of its repositories. The files
// that settings name are read, and each model is loaded as at a start, one after another, with its warm-up samples. No
// port is opened, nothing is served, and nothing stays in memory or in cache_dir.
#pragma once

#include <ostream>
#include <string>

#include "jit/runtime.h"
#include "proto/settings.pb.h"

namespace hearth::server {

// The line of a file that a message is about: the first one that has a name of those that the message quotes or a field
// that it names. 0 where none has.
int LineOf(const std::string& text, const std::string& message);

// "FILE:LINE: MESSAGE", or without a line where that is not known; the message as it is if it begins with the file.
std::string Located(const std::string& file, const std::string& message);

// Writes a line for each problem, and at the end how many models there are and how many problems. Settings are
// complete. Returns the number of problems.
int CheckRepository(const config::Settings& settings, Runtime& runtime, std::ostream& out);

}  // namespace hearth::server
