// What starts hearthd as a service and wants to be told how it stands: systemd, or whatever else speaks the protocol of
// sd_notify(3), which is a datagram to the socket that NOTIFY_SOCKET names. It is spoken here rather than by
// libsystemd, whose manual gives the protocol as stable and to be spoken so: one library less on machines without it.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace hearth::server {

// Any thread may call. Without NOTIFY_SOCKET nothing is told. A manager that does not listen is no reason not to serve:
// it is logged once.
class ServiceManager {
 public:
  // Takes NOTIFY_SOCKET out of the environment, so that it is not for programs that this one starts. Call before there
  // are other threads.
  ServiceManager();

  // Models are being loaded.
  void Loading();
  // All is loaded that could be; `status` is a line for people.
  void Ready(std::string_view status);
  // A reload begins, and ends. Before Ready nothing is told, as the end of a reload counts as being ready.
  void BeginReload();
  void EndReload();
  // No request is taken any more.
  void Stopping();

 private:
  // Lines of NAME=VALUE.
  void Send(std::string_view state);

  std::mutex mutex_;
  std::string address_;  // a path, or @ and an abstract name; empty for nobody
  bool ready_ = false, stopping_ = false;
};

}  // namespace hearth::server
