// Which connection a session of TLS is on, where who decrypts it does not see its socket. A handshake begins with the
// client's message (RFC 8446, 4.1.2; RFC 5246, 7.4.1.2), which holds 32 random bytes and is not encrypted; the session
// has the same bytes. So what was read from a socket first says who its client is, and the session asks by its bytes.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace hearth::server {

using ClientRandom = std::array<unsigned char, 32>;

// The first bytes that a connection brings, until there are enough of them. For one thread at a time.
class ClientHelloReader {
 public:
  // Takes the next bytes of the connection. The random bytes, once, where a client's message begins the connection.
  std::optional<ClientRandom> Read(std::string_view bytes);

 private:
  static constexpr size_t kRandomAt = 11;  // behind the headers of the record and of the message, and a version

  std::array<char, kRandomAt + sizeof(ClientRandom)> start_ = {};
  size_t read_ = 0;
};

// The addresses of handshakes that are under way. A table of fixed size: where there are more of them, one that was
// written later may have taken the place of another. Thread-safe.
class ClientHellos {
 public:
  static constexpr size_t kPlaces = 4096;

  void Remember(const ClientRandom& random, const sockaddr_storage& address);
  // Forgets it, too.
  std::optional<sockaddr_storage> Take(const ClientRandom& random);

 private:
  struct Entry {
    ClientRandom random = {};
    std::optional<sockaddr_storage> address;
  };

  Entry& PlaceOf(const ClientRandom& random);

  std::mutex mutex_;
  std::vector<Entry> entries_ = std::vector<Entry>(kPlaces);
};

}  // namespace hearth::server
