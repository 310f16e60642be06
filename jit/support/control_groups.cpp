#include "jit/support/control_groups.h"

#include <fstream>
#include <string>

namespace hearth {

namespace fs = std::filesystem;

std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> found;
  const fs::path mount = root / "sys/fs/cgroup";
  const auto add = [&](const fs::path& hierarchy, fs::path group, bool unified) {
    for (;;) {
      found.push_back({hierarchy / group.relative_path(), unified});
      if (!group.has_relative_path()) return;
      group = group.parent_path();
    }
  };
  const std::string wanted = "," + std::string(controller) + ",";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // 4:cpu,cpuacct:/path of version 1, 0::/path of version 2
    const size_t names = line.find(':') + 1;
    const size_t path = line.find(':', names) + 1;
    if (names == 0 || path == 0) continue;
    const std::string controllers = "," + line.substr(names, path - names - 1) + ",";
    if (controllers == ",,") {
      add(mount, line.substr(path), true);
    } else if (controllers.find(wanted) != std::string::npos) {
      add(mount / controller, line.substr(path), false);
    }
  }
  return found;
}

}  // namespace hearth
