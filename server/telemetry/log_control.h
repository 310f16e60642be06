// Which lines the log has, in Triton's terms: flags of the start and the LogSettings method say the same. Thread-safe.
#pragma once

namespace hearth::server {

struct LogLevels {
  int verbose = 0;  // 1: for who looks for mistakes in hearthd; 2 and more: all
  bool info = true;
  bool warning = true;
  bool error = true;
};

// The least severe kind that is on counts, and all that is more severe is written too: levels are ordered here, and
// Triton's are not. What HEARTH_LOG says of modules and files stays.
void ApplyLogLevels(const LogLevels& levels);

}  // namespace hearth::server
