#include "server/security/grpc_connection_guard.h"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"
#include "server/security/address.h"
#include "server/security/client_hellos.h"
#include "server/security/open_connections.h"
#include "server/security/refusal_log.h"

// OpenSSL and libc declare both without an attribute that would keep them in the table of symbols.
extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int descriptor, msghdr* message, int flags);
extern "C" __attribute__((visibility("default"))) int SSL_read(SSL* ssl, void* buffer, int size);

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;
using Violation = Http2FrameGuard::Violation;

// As many files as Linux lets a process open unless it is told otherwise (fs.nr_open).
constexpr int kMostDescriptors = 1 << 20;
constexpr std::array kReasons = {Violation::kPreface, Violation::kHeaderBlock, Violation::kControlFrames,
                                 Violation::kResets, Violation::kAddress};

// The latest connection of one descriptor. Never freed, as the descriptor will be used again.
struct Connection {
  std::mutex mutex;
  ino_t inode = 0;  // 0: none
  // What is read of a plain one, and of one with TLS.
  std::variant<std::monostate, Http2FrameGuard, ClientHelloReader> reader;
};

// Of a session of TLS.
struct SessionGuard {
  Http2FrameGuard frames;
  std::string peer;  // "" where it is not known
};

// Linux's tcp_info, which goes on behind libc's; <linux/tcp.h> cannot be included beside <netinet/tcp.h>.
struct LongTcpInfo {
  tcp_info known;
  uint64_t pacing_rate;
  uint64_t max_pacing_rate;
  uint64_t bytes_acked;
};
static_assert(offsetof(LongTcpInfo, bytes_acked) == 120);

struct GuardState {
  GuardState(const Http2Budget& budget, const AddressRates& rates) : budget(budget), addresses(rates, Clock::now()) {}

  const Http2Budget budget;
  AddressBudgets addresses;
  ClientHellos hellos;
  RefusalLog refusals;
  std::array<std::atomic<uint64_t>, kReasons.size()> ended = {};
  int ssl_index = -1;  // of the guard that an SSL object has
};

std::array<std::atomic<Connection*>, kMostDescriptors> connections;
// Null: nothing is guarded yet. Never freed: gRPC's threads may read as long as the process lives.
std::atomic<GuardState*> guard_state;

template <typename Function>
Function* NextOf(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Zeros, of no family, if there is none.
sockaddr_storage PeerAddressOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return address;
}

// "" for zeros.
std::string InWords(const sockaddr_storage& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof(address), host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return Address(host.data(), std::atoi(port.data()));
}

uint64_t BytesSent(int descriptor) {
  LongTcpInfo info{};
  socklen_t size = sizeof(info);
  return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.bytes_acked : 0;
}

void CountEnd(GuardState& state, Violation violation, const std::string& peer) {
  const auto* const reason = std::ranges::find(kReasons, violation);
  ++state.ended[static_cast<size_t>(reason - kReasons.begin())];
  state.refusals.Write("a connection of gRPC", peer, Describe(violation));
}

void ForEachPart(const msghdr& message, size_t size, absl::FunctionRef<void(std::string_view)> use) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const std::string_view part(static_cast<const char*>(message.msg_iov[i].iov_base),
                                std::min(size, message.msg_iov[i].iov_len));
    use(part);
    size -= part.size();
  }
}

// Whether gRPC may have what recvmsg read.
bool AllowReceived(int descriptor, const msghdr& message, size_t size) {
  if (descriptor >= kMostDescriptors) return true;
  Connection* const connection = connections[static_cast<size_t>(descriptor)].load(std::memory_order_acquire);
  if (connection == nullptr) return true;
  std::lock_guard lock(connection->mutex);
  if (connection->inode == 0) return true;
  if (auto* const hello = std::get_if<ClientHelloReader>(&connection->reader)) {
    ForEachPart(message, size, [&](std::string_view part) {
      const std::optional<ClientRandom> random = hello->Read(part);
      if (random.has_value()) guard_state.load()->hellos.Remember(*random, PeerAddressOf(descriptor));
    });
    return true;
  }
  auto& guard = std::get<Http2FrameGuard>(connection->reader);
  const bool ended = guard.violation() != Violation::kNone;
  const Clock::time_point now = Clock::now();
  ForEachPart(message, size,
              [&](std::string_view part) { guard.Read(part, now, [&] { return BytesSent(descriptor); }); });
  if (guard.violation() == Violation::kNone) return true;
  if (connection->inode != InodeOf(descriptor)) {
    connection->inode = 0;
    return true;
  }
  if (!ended) CountEnd(*guard_state.load(), guard.violation(), InWords(PeerAddressOf(descriptor)));
  return false;
}

void FreeGuard(void* /*ssl*/, void* guard, CRYPTO_EX_DATA* /*data*/, int /*index*/, long /*argl*/, void* /*argp*/) {
  delete static_cast<SessionGuard*>(guard);
}

// As gRPC does it: what ALPN says, or else NPN.
std::string_view NegotiatedProtocol(const SSL* ssl) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &name, &size);
  if (size == 0) SSL_get0_next_proto_negotiated(ssl, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

// Null for what is not gRPC's.
SessionGuard* GuardOf(SSL* ssl, GuardState& state) {
  if (void* const known = SSL_get_ex_data(ssl, state.ssl_index)) return static_cast<SessionGuard*>(known);
  if (SSL_is_server(ssl) == 0) return nullptr;
  const std::string_view protocol = NegotiatedProtocol(ssl);
  if (protocol.empty() || protocol == "http/1.1") return nullptr;
  ClientRandom random;
  SSL_get_client_random(ssl, random.data(), random.size());
  const std::optional<sockaddr_storage> address = state.hellos.Take(random);
  AddressBudget* const budget = address.has_value() ? &state.addresses.Of(*address) : nullptr;
  auto guard = std::make_unique<SessionGuard>(Http2FrameGuard(state.budget, budget, Clock::now()),
                                              address.has_value() ? InWords(*address) : "");
  if (SSL_set_ex_data(ssl, state.ssl_index, guard.get()) == 0) return nullptr;
  return guard.release();
}

// Whether gRPC may have what SSL_read read.
bool AllowEncrypted(SSL* ssl, std::string_view bytes) {
  GuardState* const state = guard_state.load(std::memory_order_acquire);
  SessionGuard* const guard = state == nullptr ? nullptr : GuardOf(ssl, *state);
  if (guard == nullptr) return true;
  Http2FrameGuard& frames = guard->frames;
  const bool ended = frames.violation() != Violation::kNone;
  if (frames.Read(bytes, Clock::now(), [&] { return BIO_number_written(SSL_get_wbio(ssl)); }) == Violation::kNone) {
    return true;
  }
  if (!ended) CountEnd(*state, frames.violation(), guard->peer);
  return false;
}

}  // namespace

absl::Status GuardGrpc(const Http2Budget& budget, const AddressRates& rates) {
  if (dlsym(RTLD_DEFAULT, "recvmsg") != reinterpret_cast<void*>(&recvmsg) ||
      dlsym(RTLD_DEFAULT, "SSL_read") != reinterpret_cast<void*>(&SSL_read)) {
    return absl::InternalError("what gRPC reads cannot be guarded: the program does not export recvmsg and SSL_read");
  }
  auto state = std::make_unique<GuardState>(budget, rates);
  state->ssl_index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeGuard);
  if (state->ssl_index < 0) return absl::InternalError("OpenSSL has no room for what guards its connections");
  guard_state.store(state.release(), std::memory_order_release);
  return absl::OkStatus();
}

bool GuardConnection(int descriptor, Transport transport) {
  if (descriptor >= kMostDescriptors) return false;
  auto& entry = connections[static_cast<size_t>(descriptor)];
  Connection* connection = entry.load(std::memory_order_acquire);
  if (connection == nullptr) {
    connection = new Connection();
    entry.store(connection, std::memory_order_release);
  }
  std::lock_guard lock(connection->mutex);
  if (transport == Transport::kTls) {
    connection->reader.emplace<ClientHelloReader>();
  } else {
    GuardState& state = *guard_state.load(std::memory_order_acquire);
    AddressBudget& address = state.addresses.Of(PeerAddressOf(descriptor));
    connection->reader.emplace<Http2FrameGuard>(state.budget, &address, Clock::now());
  }
  connection->inode = InodeOf(descriptor);
  return true;
}

std::vector<std::pair<std::string, uint64_t>> EndedGrpcConnections() {
  const GuardState* const state = guard_state.load(std::memory_order_acquire);
  std::vector<std::pair<std::string, uint64_t>> ended;
  for (size_t i = 0; i < kReasons.size(); ++i) {
    ended.emplace_back(ReasonName(kReasons[i]), state == nullptr ? 0 : state->ended[i].load());
  }
  return ended;
}

}  // namespace hearth::server

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static auto* const next = hearth::server::NextOf<decltype(recvmsg)>("recvmsg");
  const ssize_t size = next(descriptor, message, flags);
  if (size <= 0 || hearth::server::AllowReceived(descriptor, *message, static_cast<size_t>(size))) return size;
  (void)shutdown(descriptor, SHUT_RDWR);
  errno = ECONNRESET;
  return -1;
}

int SSL_read(SSL* ssl, void* buffer, int size) {
  static auto* const next = hearth::server::NextOf<decltype(SSL_read)>("SSL_read");
  const int read = next(ssl, buffer, size);
  if (read <= 0 || hearth::server::AllowEncrypted(ssl, {static_cast<const char*>(buffer), static_cast<size_t>(read)})) {
    return read;
  }
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  return -1;
}
