#include "server/http/transport.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <climits>
#include <new>
#include <utility>

namespace hearth::server {
namespace {

namespace asio = boost::asio;

int IntSize(size_t size) { return static_cast<int>(std::min<size_t>(size, INT_MAX)); }

}  // namespace

Transport::Transport(Socket socket, std::shared_ptr<SSL_CTX> context)
    : socket_(std::move(socket)), context_(std::move(context)) {
  if (context_ == nullptr) return;
  tls_.reset(SSL_new(context_.get()));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket_.native_handle()) != 1) throw std::bad_alloc();
  SSL_set_accept_state(tls_.get());
}

Transport::Error Transport::ErrorOf(int result) {
  const int system_error = errno;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return asio::error::would_block;
    case SSL_ERROR_WANT_WRITE:
      waits_to_write_ = true;
      return asio::error::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return asio::error::eof;
    case SSL_ERROR_SYSCALL:
      return system_error == 0 ? Error(asio::error::eof) : Error(system_error, boost::system::system_category());
    default:
      return asio::error::connection_aborted;
  }
}

Transport::Progress Transport::Handshake() {
  ERR_clear_error();
  waits_to_write_ = false;
  errno = 0;
  const int result = SSL_do_handshake(tls_.get());
  if (result == 1) return Progress::kDone;
  const Error error = ErrorOf(result);
  if (error == asio::error::would_block) return Progress::kWaits;
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  failure_ = reason != nullptr ? reason : error.message();
  if (const long verified = SSL_get_verify_result(tls_.get()); verified != X509_V_OK) {
    failure_ = std::string("the client's certificate: ") + X509_verify_cert_error_string(verified);
  }
  ERR_clear_error();
  return Progress::kFailed;
}

size_t Transport::ReadSome(void* data, size_t size, Error& error) {
  if (tls_ == nullptr) return socket_.read_some(asio::buffer(data, size), error);
  waits_to_write_ = false;
  size_t total = 0;
  while (total < size) {
    ERR_clear_error();
    errno = 0;
    const int count = SSL_read(tls_.get(), static_cast<char*>(data) + total, IntSize(size - total));
    if (count <= 0) {
      // What ends the connection is met again at the next reading.
      if (const Error met = ErrorOf(count); total == 0) error = met;
      break;
    }
    total += static_cast<size_t>(count);
  }
  return total;
}

size_t Transport::WriteSome(std::span<const asio::const_buffer> buffers, Error& error) {
  if (tls_ == nullptr) return socket_.write_some(buffers, error);
  size_t total = 0;
  for (asio::const_buffer buffer : buffers) {
    while (buffer.size() > 0) {
      ERR_clear_error();
      errno = 0;
      const int count = SSL_write(tls_.get(), buffer.data(), IntSize(buffer.size()));
      if (count <= 0) {
        error = ErrorOf(count);
        return total;
      }
      total += static_cast<size_t>(count);
      buffer += static_cast<size_t>(count);
    }
  }
  return total;
}

Transport::Error Transport::LookForEnd() {
  char byte = 0;
  Error error;
  if (tls_ == nullptr) {
    (void)socket_.receive(asio::buffer(&byte, 1), Socket::message_peek, error);
    return error;
  }
  ERR_clear_error();
  waits_to_write_ = false;
  errno = 0;
  const int count = SSL_peek(tls_.get(), &byte, 1);
  return count > 0 ? error : ErrorOf(count);
}

size_t Transport::Discard(std::span<char> scratch, Error& error) {
  return socket_.read_some(asio::buffer(scratch.data(), scratch.size()), error);
}

void Transport::EndWrites() {
  if (tls_ != nullptr) {
    ERR_clear_error();
    (void)SSL_shutdown(tls_.get());
    ERR_clear_error();
    waits_to_write_ = false;
  }
  Error ignored;
  (void)socket_.shutdown(Socket::shutdown_send, ignored);
}

}  // namespace hearth::server
