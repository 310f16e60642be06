// Sockets that listen at a host's addresses, before anything is accepted from them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

// Owns its sockets.
class ListeningSockets {
 public:
  // `hosts`: names or addresses with commas between them. A name stands for all of its addresses; of those, one that
  // this machine does not have (a machine without IPv6) is left out, unless that leaves none. "0.0.0.0" is all of IPv4,
  // "::" all of both. Port 0 takes a free one, the same at every address. kUnavailable if the port cannot be had.
  static absl::StatusOr<ListeningSockets> Open(const std::string& hosts, int port);

  ListeningSockets() = default;
  ListeningSockets(ListeningSockets&& other) noexcept { *this = std::move(other); }
  ListeningSockets& operator=(ListeningSockets&& other) noexcept;
  ~ListeningSockets();

  int port() const { return port_; }
  // Whether nobody but this machine can connect.
  bool only_loopback() const { return only_loopback_; }
  const std::vector<int>& descriptors() const { return descriptors_; }
  // The caller owns them from now on.
  std::vector<int> Release();

 private:
  std::vector<int> descriptors_;  // do not block
  int port_ = 0;
  bool only_loopback_ = true;
};

// How many connections of one port may be open so that the process, which has several, does not run out of files: a
// quarter of those that it may open, and `wanted` at most.
int64_t AllowedConnections(int64_t wanted);

}  // namespace hearth::server
