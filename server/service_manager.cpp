#include "server/service_manager.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "jit/support/logging.h"

namespace hearth::server {
namespace {

constexpr char kSocket[] = "NOTIFY_SOCKET";

// Of CLOCK_MONOTONIC, which this clock is.
int64_t MonotonicMicroseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// Whether all of it was sent; if not, errno says why.
bool SendTo(const std::string& address, std::string_view state) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address.size() >= sizeof(to.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::ranges::copy(address, to.sun_path);
  if (address[0] == '@') to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  // Waits for a manager that is behind: without READY=1 it would wait for ever.
  const ssize_t sent =
      sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), length);
  const int error = errno;
  close(socket);
  errno = error;
  return sent == static_cast<ssize_t>(state.size());
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* const address = std::getenv(kSocket);
  if (address == nullptr) return;
  address_ = address;
  unsetenv(kSocket);
  if (address_.empty() || address_[0] == '/' || address_[0] == '@') return;
  LoggerOf("server/service_manager").warn("{}: expected a path or @NAME, got {}", kSocket, address_);
  address_.clear();
}

void ServiceManager::Send(std::string_view state) {
  if (address_.empty() || SendTo(address_, state)) return;
  LoggerOf("server/service_manager")
      .warn("{} {} does not take what it should be told: {}; it is not told more", kSocket, address_,
            std::strerror(errno));
  address_.clear();
}

void ServiceManager::Loading() {
  const std::lock_guard lock(mutex_);
  Send("STATUS=loading models");
}

void ServiceManager::Ready(std::string_view status) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  ready_ = true;
  Send("READY=1\nSTATUS=" + std::string(status));
}

void ServiceManager::BeginReload() {
  const std::lock_guard lock(mutex_);
  if (ready_) Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicMicroseconds()));
}

void ServiceManager::EndReload() {
  const std::lock_guard lock(mutex_);
  if (ready_) Send("READY=1");
}

void ServiceManager::Stopping() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  Send("STOPPING=1\nSTATUS=draining requests");
}

}  // namespace hearth::server
