#include "jit/support/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "jit/support/control_groups.h"

namespace hearth {

int64_t UsableMemory(const std::filesystem::path& root) {
  int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    // A file that holds no number ("max") sets no limit.
    int64_t limit = 0;
    std::ifstream file(group.folder / (group.unified ? "memory.max" : "memory.limit_in_bytes"));
    if (file >> limit && limit > 0) memory = std::min(memory, limit);
  }
  return memory;
}

}  // namespace hearth
