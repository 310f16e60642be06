#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr size_t kUsualHeaders = 8;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// Splits the target into path and query; false if it is none. A target with scheme and host loses them.
bool SetTarget(std::string_view target, HttpRequest& request) {
  if (const size_t scheme = target.find("://"); scheme != target.npos && !target.starts_with('/')) {
    const size_t path = target.find('/', scheme + 3);
    target = path == target.npos ? "/" : target.substr(path);
  }
  const size_t question = target.find('?');
  if (question != target.npos) request.query = target.substr(question + 1);
  auto path = PercentDecoded(target.substr(0, question));
  if (!path) return false;
  request.path = *std::move(path);
  return true;
}

}  // namespace

class RequestParser::Beast : public http::basic_parser<true> {
 public:
  Beast(HttpRequest& request, const int64_t& max_body_bytes) : request_(request), max_body_bytes_(max_body_bytes) {
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
  }

  int version = 0;  // 10 or 11
  int hosts = 0;
  bool good_target = true;

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int number, error_code& ec) override {
    ec = {};
    version = number;
    request_.method.assign(method.data(), method.size());
    good_target = SetTarget({target.data(), target.size()}, request_);
    request_.headers.reserve(kUsualHeaders);
  }

  void on_field_impl(http::field field, string_view name, string_view value, error_code& ec) override {
    ec = {};
    if (is_header_done()) return;  // a trailer, which nothing here reads
    if (field == http::field::host) ++hosts;
    request_.headers.emplace_back(absl::AsciiStrToLower({name.data(), name.size()}),
                                  std::string(value.data(), value.size()));
  }

  size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& ec) override {
    ec = {};
    if (request_.body.size() + body.size() > static_cast<uint64_t>(max_body_bytes_)) {
      ec = http::error::body_limit;
      return 0;
    }
    request_.body.Append({body.data(), body.size()});
    return body.size();
  }

  // A body of known length is read without Beast.
  size_t on_body_impl(string_view, error_code& ec) override {
    ec = http::error::bad_content_length;
    return 0;
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_header_impl(error_code& ec) override { ec = {}; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code& ec) override { ec = {}; }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code& ec) override { ec = {}; }
  void on_finish_impl(error_code& ec) override { ec = {}; }

  HttpRequest& request_;
  const int64_t& max_body_bytes_;
};

RequestParser::RequestParser(size_t max_header_bytes, std::string peer)
    : max_header_bytes_(max_header_bytes),
      peer_(std::move(peer)),
      beast_(std::make_unique<Beast>(request_, max_body_bytes_)) {
  request_.peer = peer_;
}

RequestParser::~RequestParser() = default;

void RequestParser::Add(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes);
}

size_t RequestParser::waiting() const { return buffer_.size() - begin_; }

bool RequestParser::begun() const { return waiting() > 0 || header_bytes_ > 0; }

bool RequestParser::has_body() const {
  return beast_->is_header_done() && (beast_->chunked() || beast_->content_length().value_or(0) > 0);
}

bool RequestParser::keep_alive() const { return beast_->keep_alive(); }

bool RequestParser::takes_interim_answers() const { return beast_->version == 11; }

RequestParser::State RequestParser::Fail(int status, std::string_view text) {
  error_ = {.status = status, .body = std::string(text) + "\n"};
  return state_ = State::kFailed;
}

RequestParser::State RequestParser::CheckHead() {
  state_ = State::kHeadDone;
  if (!beast_->good_target) return Fail(400, "the request's target is no path");
  if (beast_->hosts != 1 && (beast_->hosts > 1 || beast_->version == 11)) {
    return Fail(400, "a request needs one Host header");
  }
  // Another encoding would hide where the body ends.
  if (request_.Header("transfer-encoding") != nullptr) {
    for (const auto& [name, value] : request_.headers) {
      if (name == "transfer-encoding" && !absl::EqualsIgnoreCase(value, "chunked")) {
        return Fail(501, "chunked is the only Transfer-Encoding here");
      }
    }
    if (beast_->version == 10) return Fail(400, "HTTP/1.0 has no Transfer-Encoding");
  }
  if (const std::string* expectation = request_.Header("expect"); expectation != nullptr && beast_->version == 11) {
    if (!absl::EqualsIgnoreCase(*expectation, "100-continue")) {
      return Fail(417, "100-continue is all that may be expected");
    }
    expects_continue_ = true;
  }
  return state_;
}

RequestParser::State RequestParser::Advance() {
  if (state_ == State::kBody && !beast_->chunked()) {
    const size_t size = std::min<uint64_t>(body_left_, waiting());
    request_.body.Append(std::string_view(buffer_).substr(begin_, size));
    begin_ += size;
    body_left_ -= size;
    if (body_left_ == 0) state_ = State::kDone;
    return state_;
  }
  while (state_ == State::kHeader || state_ == State::kBody) {
    const bool in_header = state_ == State::kHeader;
    // A line end too many behind the last request is not part of this one.
    while (in_header && header_bytes_ == 0 && waiting() >= 2 && buffer_.compare(begin_, 2, "\r\n") == 0) begin_ += 2;
    if (in_header && header_bytes_ == 0 && waiting() == 1 && buffer_[begin_] == '\r') return state_;
    // A chunked body never has less before it. Beast's parser asserts so where it waits for trailers.
    if (!in_header && waiting() < kLastChunk.size()) return state_;
    error_code ec;
    const size_t used = waiting() == 0 ? 0 : beast_->put(boost::asio::buffer(buffer_.data() + begin_, waiting()), ec);
    begin_ += used;
    if (in_header) {
      header_bytes_ += used;
      if (header_bytes_ + (beast_->is_header_done() ? 0 : waiting()) > max_header_bytes_) {
        return Fail(431, absl::StrCat("a request's header may have ", max_header_bytes_, " bytes"));
      }
    }
    if (ec == http::error::body_limit) {
      return Fail(413, absl::StrCat("a body may have ", max_body_bytes_, " bytes here"));
    }
    if (ec && ec != http::error::need_more) return Fail(400, absl::StrCat("not a request: ", ec.message()));
    if (in_header && beast_->is_header_done()) return CheckHead();
    if (beast_->is_done()) return state_ = State::kDone;
    if (!in_header && waiting() > max_header_bytes_ && used == 0) {
      return Fail(431, absl::StrCat("a chunk's frame may have ", max_header_bytes_, " bytes"));
    }
    if (waiting() == 0 || ec == http::error::need_more) return state_;
  }
  return state_;
}

void RequestParser::ReadBody(int64_t max_bytes, size_t aligned_at) {
  request_.body.AlignAt(aligned_at);
  max_body_bytes_ = max_bytes;
  state_ = State::kBody;
  if (beast_->chunked()) return;
  body_left_ = beast_->content_length().value_or(0);
  if (body_left_ > static_cast<uint64_t>(max_bytes)) {
    Fail(413, absl::StrCat("a body may have ", max_bytes, " bytes here, and this one has ", body_left_));
  }
}

size_t RequestParser::body_left() const {
  return state_ == State::kBody && !beast_->chunked() && waiting() == 0 ? body_left_ : 0;
}

char* RequestParser::BodyRoom(size_t size) { return request_.body.Room(size); }

void RequestParser::BodyRead(size_t size) {
  request_.body.Grow(size);
  body_left_ -= size;
}

void RequestParser::Next() {
  request_ = HttpRequest();
  request_.peer = peer_;
  beast_ = std::make_unique<Beast>(request_, max_body_bytes_);
  state_ = State::kHeader;
  header_bytes_ = 0;
  body_left_ = 0;
  expects_continue_ = false;
  if (waiting() == 0) {
    buffer_ = std::string();
    begin_ = 0;
  }
}

}  // namespace hearth::server
