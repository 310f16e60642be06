// One client's connection: reads requests, has them handled one at a time, and writes the answers.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/http_loop.h"
#include "server/http/request_parser.h"
#include "server/http/transport.h"

namespace hearth::server {

// Belongs to the server's thread, or to what that has lent.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // With a context, the connection begins with a handshake of TLS.
  HttpConnection(HttpServer::Loop& loop, tcp::socket socket, const tcp::endpoint& peer,
                 std::shared_ptr<SSL_CTX> context);

  // Takes its place in its first phase's list and begins to read.
  void Start();
  void Close();
  void TimeOut();
  // For a server that ends: a request whose answer is on its way gets it, any other is refused.
  void Drain();
  // Sends the answer to the request that is being handled.
  void Deliver(HttpResponse response);

  // When its phase began, or the last byte came or went that the phase waits for.
  std::chrono::steady_clock::time_point since() const { return since_; }
  // So much of the time since then is not the client's.
  void Excuse(std::chrono::steady_clock::duration time) { since_ += time; }

 private:
  void Enter(Phase phase);
  void WaitToRead();
  void WaitToWrite();
  void Readable();
  void Read();
  void LookForEnd();
  // Hears when a client that sends no more is gone altogether.
  void WaitForReset();
  void Gone();
  // False if the connection does not take it.
  bool SendContinue();
  void Discard();
  void Handshake();
  void AfterHandshake(Transport::Progress progress);
  void Process();
  bool TakeHead();
  void Handle();
  // The handler has returned, or it takes long and the other thread has taken over.
  void Handled(HttpResponder::Pending& pending);
  // Answers, and closes the connection behind that.
  void Refuse(HttpResponse response);
  void Send(HttpResponse response);
  void Write();
  void Written();
  void CountBody();
  void CountUnsent(int64_t size);

  HttpServer::Loop& loop_;
  Transport transport_;
  const std::string peer_;
  RequestParser parser_;
  Phase phase_;
  std::chrono::steady_clock::time_point since_;
  HttpServer::Loop::Connections::iterator place_;
  bool listed_ = false;
  bool waits_to_read_ = false;
  // A thread of the handshakes' has the transport; it looks first whether anybody still wants it to.
  bool shaking_ = false;
  std::atomic<bool> wanted_{true};
  bool close_ = false;
  bool head_only_ = false;
  bool sends_no_more_ = false;  // the client, as was seen while a request was handled
  size_t discarded_ = 0;
  uint64_t last_request_ = 0;  // as ActiveClients counts them
  int64_t counted_body_ = 0;
  int64_t counted_unsent_ = 0;
  std::weak_ptr<HttpResponder::Pending> pending_;
  // What is being sent: the head, then the response's own bytes.
  std::string head_;
  HttpResponse response_;
  std::vector<std::string_view> unsent_;
  size_t next_unsent_ = 0;
};

}  // namespace hearth::server
