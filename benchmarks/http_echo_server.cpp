// The least that an HTTP server over Boost.Beast can do with the protocol's messages: answers any request with the
// bytes behind its inference header, as one binary tensor; no model, no checks. What hearthd's identity model is
// measured against:
//   http_echo_server PORT [blocking]
// One thread carries all connections, as hearthd's does; with "blocking" each has a thread of its own, which is the
// fastest that there is for few of them, and cannot be had for ten thousand.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr const char* kHeaderLength = "Inference-Header-Content-Length";

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response EchoOf(Request request) {
  const std::string bytes = std::move(request.body()).substr(std::stoul(std::string(request[kHeaderLength])));
  const std::string header =
      R"({"model_name":"identity","model_version":"1","outputs":[{"name":"OUTPUT__0","datatype":"FP32","shape":[)" +
      std::to_string(bytes.size() / 4) + R"(],"parameters":{"binary_data_size":)" + std::to_string(bytes.size()) +
      "}}]}";
  Response response(http::status::ok, request.version());
  response.set(http::field::content_type, "application/octet-stream");
  response.set(kHeaderLength, std::to_string(header.size()));
  response.body() = header + bytes;
  response.prepare_payload();
  return response;
}

void Answer(Tcp::socket socket) try {
  socket.set_option(Tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    http::read(socket, buffer, parser);
    http::write(socket, EchoOf(parser.release()));
  }
} catch (const std::exception&) {
  // The client has hung up.
}

// A connection of those that one thread carries. It lives as long as an operation of its own is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Tcp::socket socket) : socket_(std::move(socket)) { socket_.set_option(Tcp::no_delay(true)); }

  void Read() {
    parser_.emplace();
    parser_->body_limit(boost::none);
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, size_t) {
      if (!error) self->Write();
    });
  }

 private:
  using Error = boost::system::error_code;

  void Write() {
    response_ = EchoOf(parser_->release());
    http::async_write(socket_, response_, [self = shared_from_this()](const Error& error, size_t) {
      if (!error) self->Read();
    });
  }

  Tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Response response_;
};

void Accept(Tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](const boost::system::error_code& error, Tcp::socket socket) {
    if (!error) std::make_shared<Connection>(std::move(socket))->Read();
    Accept(acceptor);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool blocking = argc == 3 && std::string_view(argv[2]) == "blocking";
  if (argc != 2 && !blocking) {
    std::cerr << "usage: http_echo_server PORT [blocking]\n";
    return 2;
  }
  asio::io_context io(1);
  Tcp::acceptor acceptor(io,
                         Tcp::endpoint(asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::stoi(argv[1]))));
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  if (!blocking) {
    Accept(acceptor);
    io.run();
    return 1;
  }
  for (;;) {
    std::thread([socket = acceptor.accept()]() mutable { Answer(std::move(socket)); }).detach();
  }
}
