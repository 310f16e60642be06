#include "jit/support/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

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
std::optional<double> QuotaOf(const fs::path& group, bool unified) {
  if (!unified) return Ratio(std::ifstream(group / "cpu.cfs_quota_us"), std::ifstream(group / "cpu.cfs_period_us"));
  std::string quota, period;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return Ratio(std::istringstream(quota), std::istringstream(period));
}

// Of a group and those that it is in, up to the one that is seen as the root, a container's.
void Tighten(std::optional<double>& quota, const fs::path& mount, fs::path group, bool unified) {
  for (;;) {
    if (const auto own = QuotaOf(mount / group.relative_path(), unified)) quota = std::min(quota.value_or(*own), *own);
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

int AllowedProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<double> ProcessorQuota(const fs::path& root) {
  std::optional<double> quota;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // 4:cpu,cpuacct:/path of version 1, 0::/path of version 2
    const size_t names = line.find(':') + 1;
    const size_t path = line.find(':', names) + 1;
    if (names == 0 || path == 0) continue;
    const std::string controllers = "," + line.substr(names, path - names - 1) + ",";
    const bool unified = controllers == ",,";
    if (unified) {
      Tighten(quota, mount, line.substr(path), true);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      Tighten(quota, mount / "cpu", line.substr(path), false);
    }
  }
  return quota;
}

int UsableProcessors() {
  const int allowed = std::max(1, AllowedProcessors());
  const std::optional<double> quota = ProcessorQuota();
  return quota ? std::clamp(static_cast<int>(std::ceil(std::min(*quota, 1e6))), 1, allowed) : allowed;
}

}  // namespace hearth
