// The bytes of one connection, plain or within TLS. Nothing here blocks: what cannot go on now says so, and is tried
// again when the socket is ready. OpenSSL works on the socket itself, so a connection that waits has no buffers, which
// Asio's own stream would keep for each.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace hearth::server {

// For one thread at a time. The process ignores SIGPIPE.
class Transport {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;

  // The socket does not block. Without a context the connection is plain.
  Transport(Socket socket, std::shared_ptr<SSL_CTX> context);

  Socket& socket() { return socket_; }
  bool encrypted() const { return tls_ != nullptr; }

  enum class Progress { kDone, kWaits, kFailed };
  // Goes on with the handshake, which takes a millisecond of a processor where a key of RSA signs.
  Progress Handshake();
  // Why the handshake failed.
  const std::string& failure() const { return failure_; }

  // As many bytes as there are, `size` at most; would_block if there are none yet.
  size_t ReadSome(void* data, size_t size, Error& error);
  // As many bytes as the socket takes; would_block if it does not take all. What was not written must be the beginning
  // of the next write.
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, Error& error);
  // would_block while nothing comes; no error if bytes wait; otherwise how the connection has ended.
  Error LookForEnd();
  // Reads and forgets what comes, which may be no more than ciphertext.
  size_t Discard(std::span<char> scratch, Error& error);

  // Whether there are bytes to read that the socket has given up already.
  bool HasUnread() const { return tls_ != nullptr && SSL_pending(tls_.get()) > 0; }
  // What the next try waits for: the socket to take bytes, rather than to have some.
  bool waits_to_write() const { return waits_to_write_; }

  // Says that no more is sent, and still receives.
  void EndWrites();
  // For whoever closes it. Nothing else is asked of the transport afterwards.
  Socket Release() { return std::move(socket_); }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  // What the last call of OpenSSL, which gave `result`, met.
  Error ErrorOf(int result);

  Socket socket_;
  std::shared_ptr<SSL_CTX> context_;
  std::unique_ptr<SSL, Free> tls_;
  bool waits_to_write_ = false;
  std::string failure_;
};

}  // namespace hearth::server
