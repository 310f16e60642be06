// Counts connections whose descriptors somebody else closes without a word. Each is known by its descriptor and the
// inode of its socket, which the same descriptor does not have again; whether they are still there is looked at only
// where the most are open.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <unordered_map>

namespace hearth::server {

// Of an open file; 0 if there is none.
ino_t InodeOf(int descriptor);

// For one thread.
class OpenConnections {
 public:
  explicit OpenConnections(int64_t most) : most_(most) {}

  // Whether one more may be open, besides those that are. Looks at most every tenth of a second which of them are.
  bool HasRoom();
  void Add(int descriptor);

 private:
  void ForgetClosed();

  const int64_t most_;
  std::unordered_map<int, ino_t> open_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace hearth::server
