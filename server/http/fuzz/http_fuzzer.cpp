// Feeds any bytes to the parser of HTTP requests, as a connection would: the first byte says in pieces of what size
// they come. Every request is looked at in full, and the bounds must hold.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/http/request_parser.h"

namespace hearth::server {
namespace {

constexpr size_t kMostHeader = 512;
constexpr int64_t kMostBody = 1000;

// Goes on as far as the bytes allow; false where the connection is over.
bool Advance(RequestParser& parser) {
  while (true) {
    switch (parser.Advance()) {
      case RequestParser::State::kHeader:
        if (parser.waiting() > kMostHeader) std::abort();
        return true;
      case RequestParser::State::kBody:
        return true;
      case RequestParser::State::kHeadDone:
        parser.ReadBody(kMostBody);
        break;
      case RequestParser::State::kDone: {
        HttpRequest request = parser.TakeRequest();
        if (request.body.size() > static_cast<size_t>(kMostBody)) std::abort();
        if (request.method.empty()) std::abort();
        uint64_t sum = 0;
        for (const char c : request.body.view()) sum += static_cast<uint8_t>(c);
        if (sum == UINT64_MAX) std::abort();
        parser.Next();
        break;
      }
      case RequestParser::State::kFailed:
        if (parser.error().status < 400) std::abort();
        return false;
    }
  }
}

}  // namespace
}  // namespace hearth::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth::server;
  if (size < 1) return 0;
  const size_t piece = data[0] == 0 ? size : data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  RequestParser parser(kMostHeader);
  while (!bytes.empty()) {
    std::string_view next = bytes.substr(0, piece);
    if (const size_t left = parser.body_left(); left > 0) {
      next = next.substr(0, left);
      std::copy(next.begin(), next.end(), parser.BodyRoom(next.size()));
      parser.BodyRead(next.size());
    } else {
      parser.Add(next);
    }
    bytes.remove_prefix(next.size());
    if (!Advance(parser)) return 0;
  }
  return 0;
}
