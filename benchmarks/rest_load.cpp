// Measures one server with one request over HTTP, one at a time from each of a number of clients:
//   rest_load PORT FILE CLIENTS SECONDS
// FILE has the request's bytes, head and body. Prints what closed_loop.h says. Each client has a connection of its own
// to this machine; an answer that is not 200 ends the run.
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "benchmarks/closed_loop.h"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

struct Connection {
  explicit Connection(const std::string& port) {
    asio::connect(socket, asio::ip::tcp::resolver(io).resolve("127.0.0.1", port));
    socket.set_option(asio::ip::tcp::no_delay(true));
  }

  asio::io_context io;
  asio::ip::tcp::socket socket{io};
  boost::beast::flat_buffer buffer;
};

bool Ask(Connection& connection, const std::string& request) {
  asio::write(connection.socket, asio::buffer(request));
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  http::read(connection.socket, connection.buffer, parser);
  if (parser.get().result() == http::status::ok) return true;
  std::cerr << "answered " << parser.get().result_int() << ": " << parser.get().body().substr(0, 300) << "\n";
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: rest_load PORT FILE CLIENTS SECONDS\n";
    return 2;
  }
  const std::string port = argv[1];
  std::ifstream file(argv[2], std::ios::binary);
  const std::string request{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (request.empty()) {
    std::cerr << "rest_load: there is no request in '" << argv[2] << "'\n";
    return 2;
  }
  return hearth::benchmarks::RunClosedLoop(std::stoi(argv[3]), std::stod(argv[4]), [&](int) {
    auto connection = std::make_shared<Connection>(port);
    return [connection, &request] { return Ask(*connection, request); };
  });
}
