// Makes requests of the bytes of one connection, over Boost.Beast's parser of HTTP/1. Bytes go in as they come (Add),
// and Advance says what has become of them. What is ambiguous about where a request ends is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace hearth::server {

class RequestParser {
 public:
  enum class State {
    kHeader,    // more bytes of the header are wanted
    kHeadDone,  // the request has all but its body: call ReadBody to go on
    kBody,      // more bytes of the body are wanted
    kDone,      // the request is complete: take it, then call Next
    kFailed,    // the connection is no good any more: see error()
  };

  // Every request gets the peer.
  explicit RequestParser(size_t max_header_bytes, std::string peer = "");
  ~RequestParser();

  void Add(std::string_view bytes);
  State Advance();
  // Allows the body so many bytes. A body that is longer makes Advance fail with 413.
  // `aligned_at` as in HttpBody::AlignAt.
  void ReadBody(int64_t max_bytes, size_t aligned_at = 0);

  // The header's length, or those of a chunk's frame, are bounded; so is what may wait here.
  size_t waiting() const;
  // Bytes of the body that may be read right into BodyRoom, because its length is known; 0 if it is not.
  size_t body_left() const;
  char* BodyRoom(size_t size);
  void BodyRead(size_t size);

  const HttpRequest& request() const { return request_; }
  HttpRequest TakeRequest() { return std::move(request_); }
  bool has_body() const;
  bool keep_alive() const;
  // Whether its client reads over answers of status 1xx.
  bool takes_interim_answers() const;
  bool expects_continue() const { return expects_continue_; }
  // Whether any byte of the request has come.
  bool begun() const;

  // Status and text of what is wrong.
  const HttpResponse& error() const { return error_; }

  // Begins with the next request, of which bytes may be here already.
  void Next();

 private:
  class Beast;

  State Fail(int status, std::string_view text);
  State CheckHead();

  const size_t max_header_bytes_;
  const std::string peer_;
  std::unique_ptr<Beast> beast_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not parsed yet
  size_t header_bytes_ = 0;
  State state_ = State::kHeader;
  HttpRequest request_;
  int64_t max_body_bytes_ = 0;
  uint64_t body_left_ = 0;
  bool expects_continue_ = false;
  HttpResponse error_;
};

}  // namespace hearth::server
