// A request as the HTTP server hands it over, and the answer that it takes. Both own their bytes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::server {

// The bytes of a request's body, in one piece. They are malloc's, which moves large pieces without copying them as they
// grow, so no more memory is taken than a client has sent bytes for, twice over at most.
class HttpBody {
 public:
  static constexpr size_t kAlignment = 16;  // malloc's

  HttpBody() = default;
  HttpBody(HttpBody&& other) noexcept { *this = std::move(other); }
  HttpBody& operator=(HttpBody&& other) noexcept;

  char* data() { return data_ == nullptr ? nullptr : data_.get() + skipped_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_ == nullptr ? nullptr : data_.get() + skipped_, size_}; }

  // Says, while there are no bytes yet, that the one at `offset` is to lie at an address that kAlignment divides.
  void AlignAt(size_t offset) { skipped_ = (kAlignment - offset % kAlignment) % kAlignment; }

  // Room for `size` bytes behind those that there are; valid until the next call. Throws std::bad_alloc.
  char* Room(size_t size);
  // Says that so many bytes were written into the room.
  void Grow(size_t size) { size_ += size; }
  void Append(std::string_view bytes);

 private:
  struct Free {
    void operator()(char* data) const { std::free(data); }
  };

  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t skipped_ = 0;  // before the first byte
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/metrics", percent-decoded, without the query
  std::string query;   // what follows the question mark, as it was sent
  // In the order in which they came, names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string peer;  // who asks: "ipv4:127.0.0.1:40120"
  HttpBody body;

  // The first header of this name (in lower case); null if there is none.
  const std::string* Header(std::string_view name) const;
  // All of this name as one, with commas between them; empty if there is none.
  std::string AllOf(std::string_view name) const;
};

// Bytes of an answer that something else owns: a tensor, a text that several answers share.
struct HttpPiece {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";  // a literal
  std::string body = {};
  std::vector<HttpPiece> pieces = {};  // sent behind the body
  // Beside Content-Type, Content-Length and Connection.
  std::vector<std::pair<std::string, std::string>> headers = {};

  size_t size() const;
};

}  // namespace hearth::server
