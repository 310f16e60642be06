#include "server/security/grpc_acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace hearth::server {
namespace {

constexpr std::chrono::milliseconds kRetry{20};
constexpr int kAcceptStep = 64;

}  // namespace

GrpcAcceptor::GrpcAcceptor(ListeningSockets sockets,
                           std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server, Transport transport,
                           int64_t max_connections)
    : sockets_(std::move(sockets)),
      server_(std::move(server)),
      transport_(transport),
      connections_(AllowedConnections(max_connections)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

GrpcAcceptor::~GrpcAcceptor() {
  const uint64_t one = 1;
  (void)!write(stop_, &one, sizeof(one));
  thread_.join();
  close(stop_);
}

void GrpcAcceptor::Run() {
  std::vector<pollfd> waits = {{stop_, POLLIN, 0}};
  for (const int listener : sockets_.descriptors()) waits.push_back({listener, POLLIN, 0});
  while (true) {
    (void)poll(waits.data(), waits.size(), -1);
    if ((waits[0].revents & POLLIN) != 0) return;
    for (size_t i = 1; i < waits.size(); ++i) {
      if (waits[i].revents == 0) continue;
      for (int step = 0; step < kAcceptStep && AcceptOne(waits[i].fd); ++step) continue;
    }
  }
}

bool GrpcAcceptor::AcceptOne(int listener) {
  const int descriptor = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) {
    // Of a connection that is gone already, or a signal.
    if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO) return true;
    // Somebody has to close a file before there is another one; the connection waits meanwhile.
    if (errno != EAGAIN) (void)poll(nullptr, 0, static_cast<int>(kRetry.count()));
    return false;
  }
  if (!connections_.HasRoom() || !GuardConnection(descriptor, transport_)) {
    close(descriptor);
    return true;
  }
  connections_.Add(descriptor);
  const int one = 1;
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = descriptor;
  server_->HandleNewConnection(&connection);
  return true;
}

}  // namespace hearth::server
