// What gRPC's port is served with: plain or TLS, and every call's metadata looked at before its message is read:
// its size, which is bounded, and the token that it brings.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "server/security/access_control.h"
#include "server/security/server_certificate.h"

namespace hearth::server {

// Without a certificate the port is plain. Both outlive the server that has the credentials. New connections have the
// certificate's current state.
std::shared_ptr<grpc::ServerCredentials> MakeGrpcCredentials(const ServerCertificate* certificate,
                                                             AccessControl& access);

}  // namespace hearth::server
