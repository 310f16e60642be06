#include "server/security/listening_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

constexpr int kPortsTried = 16;

std::string Reason(int error) { return std::generic_category().message(error); }

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

void SetPort(sockaddr* address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
  } else {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
  }
}

int PortOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

// The socket; minus the error's number if there can be none.
int ListenAt(const sockaddr* address, socklen_t size) {
  const int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  const int one = 1;
  (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (address->sa_family == AF_INET6) {
    const int only = IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) ? 0 : 1;
    (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  }
  if (bind(descriptor, address, size) == 0 && listen(descriptor, SOMAXCONN) == 0) return descriptor;
  const int error = errno;
  close(descriptor);
  return -error;
}

struct Resolved {
  sockaddr_storage address;
  socklen_t size;
};

absl::StatusOr<std::vector<Resolved>> Resolve(const std::string& hosts, int port) {
  std::vector<Resolved> all;
  std::set<std::string> seen;
  for (const std::string& host : std::vector<std::string>(absl::StrSplit(hosts, ','))) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    if (host.empty()) return absl::UnavailableError(absl::StrCat("'", hosts, "' holds an empty address"));
    if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0) {
      return absl::UnavailableError(absl::StrCat("cannot listen at ", host, ": ", gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
      if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
      if (!seen.insert(std::string(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen)).second) continue;
      Resolved one{};
      one.size = entry->ai_addrlen;
      std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                  reinterpret_cast<char*>(&one.address));
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace

ListeningSockets& ListeningSockets::operator=(ListeningSockets&& other) noexcept {
  std::swap(descriptors_, other.descriptors_);
  std::swap(port_, other.port_);
  std::swap(only_loopback_, other.only_loopback_);
  return *this;
}

ListeningSockets::~ListeningSockets() {
  for (const int descriptor : descriptors_) close(descriptor);
}

std::vector<int> ListeningSockets::Release() { return std::exchange(descriptors_, {}); }

absl::StatusOr<ListeningSockets> ListeningSockets::Open(const std::string& hosts, int port) {
  auto addresses = Resolve(hosts, port);
  if (!addresses.ok()) return addresses.status();
  int last_error = EADDRNOTAVAIL;
  // A port that is free at the first address may be taken at the second.
  for (int attempt = 0; attempt < (port == 0 ? kPortsTried : 1); ++attempt) {
    ListeningSockets made;
    made.port_ = port;
    bool taken = false;
    for (Resolved& one : *addresses) {
      auto* const address = reinterpret_cast<sockaddr*>(&one.address);
      SetPort(address, made.port_);
      const int descriptor = ListenAt(address, one.size);
      if (descriptor < 0) {
        last_error = -descriptor;
        if (last_error == EADDRNOTAVAIL || last_error == EAFNOSUPPORT) continue;
        taken = true;
        break;
      }
      made.descriptors_.push_back(descriptor);
      made.port_ = PortOf(descriptor);
      made.only_loopback_ = made.only_loopback_ && IsLoopback(address);
    }
    if (!taken && !made.descriptors_.empty()) return made;
    if (last_error != EADDRINUSE) break;
  }
  return absl::UnavailableError(absl::StrCat("cannot listen at ", hosts, ", port ", port, ": ", Reason(last_error)));
}

int64_t AllowedConnections(int64_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  return std::clamp<int64_t>(static_cast<int64_t>(files.rlim_cur / 4), 1, wanted);
}

}  // namespace hearth::server
