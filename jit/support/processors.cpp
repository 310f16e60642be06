#include "jit/support/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "jit/support/control_groups.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// A file that holds no number ("max"), or -1, sets no quota.
std::optional<double> Ratio(std::istream&& quota_stream, std::istream&& period_stream) {
  double quota = 0;
  double period = 0;
  if (!(quota_stream >> quota) || !(period_stream >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Of one group alone.
std::optional<double> QuotaOf(const ControlGroup& group) {
  if (!group.unified) {
    return Ratio(std::ifstream(group.folder / "cpu.cfs_quota_us"), std::ifstream(group.folder / "cpu.cfs_period_us"));
  }
  std::string quota, period;
  std::ifstream(group.folder / "cpu.max") >> quota >> period;
  return Ratio(std::istringstream(quota), std::istringstream(period));
}

int AllowedProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> ProcessorQuota(const fs::path& root) {
  std::optional<double> quota;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    if (const auto own = QuotaOf(group)) quota = std::min(quota.value_or(*own), *own);
  }
  return quota;
}

int UsableProcessors() {
  const int allowed = std::max(1, AllowedProcessors());
  const std::optional<double> quota = ProcessorQuota();
  return quota ? std::clamp(static_cast<int>(std::ceil(std::min(*quota, 1e6))), 1, allowed) : allowed;
}

}  // namespace hearth
