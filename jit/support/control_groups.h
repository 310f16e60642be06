// The control groups that this process is in, of either version: who may use how much of the machine.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace hearth {

struct ControlGroup {
  std::filesystem::path folder;  // with the group's files
  bool unified;                  // of version 2
};

// Those that the controller ("cpu", "memory") works through: the process's own and those that it is in, up to the one
// that is seen as the root, a container's. Each may set a limit, and the least holds. `root` is where /proc and /sys
// are.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const std::filesystem::path& root = "/");

}  // namespace hearth
