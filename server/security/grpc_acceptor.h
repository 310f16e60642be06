// Accepts gRPC's connections. gRPC would do so itself, but has no bound on their number, and where the process runs out
// of files it gives up its port for good; here a connection that is too much is closed, and the next one may be
// accepted. They are guarded (grpc_connection_guard.h) before gRPC has them.
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <thread>

#include "server/security/grpc_connection_guard.h"
#include "server/security/listening_sockets.h"
#include "server/security/open_connections.h"

namespace hearth::server {

class GrpcAcceptor {
 public:
  // Accepts from the sockets from now on. gRPC's server has been started, and is shut down after this object has gone.
  GrpcAcceptor(ListeningSockets sockets, std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server,
               Transport transport, int64_t max_connections);
  // Closes the sockets; connections that there are stay.
  ~GrpcAcceptor();

 private:
  void Run();
  // False if none waits, or none can be had for now.
  bool AcceptOne(int listener);

  const ListeningSockets sockets_;
  const std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  const Transport transport_;
  OpenConnections connections_;  // the thread's
  int stop_;                     // an eventfd
  std::thread thread_;
};

}  // namespace hearth::server
