// One client's connection: reads requests, has them handled one at a time, and writes the answers.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/http_loop.h"
#include "server/http/request_parser.h"

namespace hearth::server {

// Belongs to the server's thread.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpServer::Loop& loop, tcp::socket socket)
      : loop_(loop), socket_(std::move(socket)), parser_(static_cast<size_t>(loop.options.max_header_bytes)) {}

  // Takes its place in its first phase's list and begins to read.
  void Start();
  void Close();
  void TimeOut();
  // Sends the answer to the request that is being handled.
  void Deliver(HttpResponse response);

  std::chrono::steady_clock::time_point since() const { return since_; }

 private:
  void Enter(Phase phase);
  void WaitToRead();
  void WaitToWrite();
  void Readable();
  void Read();
  void LookForEnd();
  void Drain();
  void Process();
  bool TakeHead();
  void Handle();
  // Answers, and closes the connection behind that.
  void Refuse(HttpResponse response);
  void Send(HttpResponse response);
  void Write();
  void Written();
  void CountBody();

  HttpServer::Loop& loop_;
  tcp::socket socket_;
  RequestParser parser_;
  Phase phase_ = kHeader;
  std::chrono::steady_clock::time_point since_;
  HttpServer::Loop::Connections::iterator place_;
  bool listed_ = false;
  bool waits_to_read_ = false;
  bool close_ = false;
  bool head_only_ = false;
  size_t drained_ = 0;
  int64_t counted_body_ = 0;
  std::weak_ptr<HttpResponder::Pending> pending_;
  // What is being sent: the head, then the response's own bytes.
  std::string head_;
  HttpResponse response_;
  std::vector<std::string_view> unsent_;
  size_t next_unsent_ = 0;
};

}  // namespace hearth::server
