// How many processors this process may use: those that its affinity allows, or fewer where control groups give it a
// quota of processor time. More threads than that would work for a part of each period and then all stand still.
#pragma once

#include <filesystem>
#include <optional>

namespace hearth {

// The least number of processors' time that the control groups which this process is in, of either version, let it use
// together: 1.5 for 150 ms of each 100. Nothing where none sets a quota. `root` is where /proc and /sys are.
std::optional<double> ProcessorQuota(const std::filesystem::path& root = "/");

// At least one; of a processor that the quota gives a part of, the whole.
int UsableProcessors();

}  // namespace hearth
