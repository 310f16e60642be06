// A port that speaks HTTP/1.1, made for many thousands of connections of which few do anything: one thread reads and
// writes all of them, over Boost.Asio, and never waits for a client; for a handler that lasts, another one takes over.
// A connection that nobody answers has no timer and no buffer of its own; what it may hold and how long it may take is
// in the options, and where the most connections are open the one that waited for its client longest is closed for the
// next one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/http/http_message.h"

namespace hearth::server {

class ListeningSockets;
class ServerCertificate;

// Where the answer to one request goes. May be copied and kept; all of it may be called from any thread, and also when
// the connection or the server is gone. A request whose last responder goes without an answer gets status 500.
class HttpResponder {
 public:
  // The first answer counts.
  void Answer(HttpResponse response) const;
  // Has `gone` called, once, if the client hangs up before the answer; at once if it has. From the server's thread, so
  // it must not block. An answer makes it void.
  void OnGone(std::function<void()> gone) const;
  // Whether Handle is to do, where it is called, what is expected to take no longer than a hand-over to another thread:
  // no other clients wait at the same time, and should it last, another thread carries the connections meanwhile.
  bool may_work_here() const { return may_work_here_; }

 private:
  friend class HttpConnection;
  class Pending;
  HttpResponder(std::shared_ptr<Pending> pending, bool may_work_here)
      : pending_(std::move(pending)), may_work_here_(may_work_here) {}

  std::shared_ptr<Pending> pending_;
  bool may_work_here_;
};

// What is to become of a request whose header is there and whose body is not.
struct HttpAdmission {
  int64_t max_body_bytes = 0;                          // a longer body is refused with 413
  size_t body_aligned_at = 0;                          // the byte of the body to align; see HttpBody::AlignAt
  std::optional<HttpResponse> refusal = std::nullopt;  // the answer, if the body is not wanted at all
};

// Called on the server's thread, so it must not block: what takes time answers later from a thread of its own. A Handle
// that lasts all the same is left to itself: another thread carries the connections then (loop_threads.h), and calls
// the handler meanwhile. What it throws becomes status 500.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual HttpAdmission Admit(const HttpRequest& head) = 0;
  virtual void Handle(HttpRequest request, HttpResponder responder) = 0;
  // The answer to a request that the server refuses by itself: a status and a line of text, which may be given another
  // form.
  virtual HttpResponse Refusal(HttpResponse refusal) { return refusal; }
};

class HttpServer {
 public:
  struct Options {
    std::string host = "localhost";  // names or addresses (listening_sockets.h)
    int port = 8000;                 // 0: any free port
    // Where there is one, the port speaks TLS. Outlives the server.
    const ServerCertificate* certificate = nullptr;
    // Also at most a quarter of the files that this process may open.
    int64_t max_connections = 10'000;
    int64_t max_header_bytes = 32 << 10;
    // Of all bodies that have not come whole yet.
    int64_t max_unfinished_body_bytes = int64_t{4} << 30;
    // Of all answers that are being sent; the connections that take theirs most slowly are closed for the others.
    int64_t max_unsent_bytes = int64_t{4} << 30;
    std::chrono::milliseconds handshake_time{10'000};  // of TLS
    std::chrono::milliseconds header_time{10'000};     // from the connection, or the first byte, to the header's last
    std::chrono::milliseconds body_time{30'000};       // without a byte of a body that is to come
    std::chrono::milliseconds idle_time{60'000};       // between requests
    std::chrono::milliseconds write_time{30'000};      // without a byte taken of an answer
  };

  // Listens, and answers with `handler`, until destroyed. kUnavailable if the port cannot be had.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options,
                                                           std::shared_ptr<HttpHandler> handler);
  // The same at sockets that are open already.
  static std::unique_ptr<HttpServer> Start(const Options& options, ListeningSockets sockets,
                                           std::shared_ptr<HttpHandler> handler);
  // Closes the port, and connections without a request; returns when every request that is handled has been answered,
  // and its answer taken, or at `end`. Call once at most.
  void Drain(std::chrono::steady_clock::time_point end);
  // Closes every connection. Answers that come later are dropped.
  ~HttpServer();

  int port() const;
  // Open connections.
  int64_t connections() const;

 private:
  class Loop;
  friend class HttpConnection;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace hearth::server
