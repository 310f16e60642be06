#include "server/security/open_connections.h"

#include <sys/stat.h>

namespace hearth::server {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

ino_t InodeOf(int descriptor) {
  struct stat entry {};
  return fstat(descriptor, &entry) == 0 ? entry.st_ino : 0;
}

bool OpenConnections::HasRoom() {
  if (static_cast<int64_t>(open_.size()) < most_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return false;
  next_look_ = now + kBetweenLooks;
  ForgetClosed();
  return static_cast<int64_t>(open_.size()) < most_;
}

void OpenConnections::Add(int descriptor) { open_[descriptor] = InodeOf(descriptor); }

void OpenConnections::ForgetClosed() {
  std::erase_if(open_, [](const auto& entry) { return InodeOf(entry.first) != entry.second; });
}

}  // namespace hearth::server
