// Holds gRPC's connections to what a client may send (http2_frame_guard.h).
//
// gRPC is a library that comes with the system: it bounds neither a header block nor the rate of frames, and has no
// place where its caller could see the bytes before it reads them. A relay between the client and gRPC would cost every
// call two more hops. So this program has its own `recvmsg` and `SSL_read`, which gRPC's library calls in place of
// libc's and OpenSSL's as the program comes first where symbols are looked up. They call the originals and look at what
// came on gRPC's connections; on a violation they fail, and gRPC closes the connection. Everybody else's calls pass
// through.
//
// Which calls are gRPC's: of `recvmsg`, those for a descriptor that was registered. One that gRPC has closed may soon
// be another socket's, so no socket is ended but the one that was registered, which its inode tells. Of `SSL_read`,
// those of a server's side that has negotiated another protocol than HTTP/1.1: gRPC negotiates one always, the HTTP
// ports no other. gRPC decrypts apart from its sockets; whose bytes `SSL_read` gave, the begin of the handshake says
// (client_hellos.h), which came through `recvmsg`.
//
// There is one guard a process, as there is one `recvmsg`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/security/http2_frame_guard.h"

namespace hearth::server {

// From now on connections are held to the budget. kInternal if this program was linked so that gRPC does not call its
// functions.
absl::Status GuardGrpc(const Http2Budget& budget, const AddressRates& rates);

// Whether connections are encrypted.
enum class Transport { kPlain, kTls };

// Of a connection that was accepted, before gRPC has it. False if the descriptor's number is too large for the guard's
// table.
bool GuardConnection(int descriptor, Transport transport);

// How many connections were ended, by reason; every reason is there.
std::vector<std::pair<std::string, uint64_t>> EndedGrpcConnections();

}  // namespace hearth::server
