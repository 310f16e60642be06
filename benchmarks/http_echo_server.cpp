// The least that an HTTP server over Boost.Beast can do with the protocol's messages: answers any request with the
// bytes behind its inference header, as one binary tensor; no model, no checks. A thread for each connection, which is
// the fastest that there is for few of them. What hearthd's identity model is measured against. http_echo_server PORT
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr const char* kHeaderLength = "Inference-Header-Content-Length";

void Answer(Tcp::socket socket) try {
  socket.set_option(Tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    http::read(socket, buffer, parser);
    http::request<http::string_body> request = parser.release();
    const std::string bytes = std::move(request.body()).substr(std::stoul(std::string(request[kHeaderLength])));
    const std::string header =
        R"({"model_name":"identity","model_version":"1","outputs":[{"name":"OUTPUT__0","datatype":"FP32","shape":[)" +
        std::to_string(bytes.size() / 4) + R"(],"parameters":{"binary_data_size":)" + std::to_string(bytes.size()) +
        "}}]}";
    http::response<http::string_body> response(http::status::ok, request.version());
    response.set(http::field::content_type, "application/octet-stream");
    response.set(kHeaderLength, std::to_string(header.size()));
    response.body() = header + bytes;
    response.prepare_payload();
    http::write(socket, response);
  }
} catch (const std::exception&) {
  // The client has hung up.
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: http_echo_server PORT\n";
    return 2;
  }
  asio::io_context io;
  Tcp::acceptor acceptor(io,
                         Tcp::endpoint(asio::ip::address_v4::loopback(), static_cast<uint16_t>(std::stoi(argv[1]))));
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  for (;;) {
    std::thread([socket = acceptor.accept()]() mutable { Answer(std::move(socket)); }).detach();
  }
}
