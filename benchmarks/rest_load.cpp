// Measures one server with one request over HTTP, one at a time from each of a number of clients:
//   rest_load PORT FILE CLIENTS SECONDS
// FILE has the request's bytes, head and body. Prints what closed_loop.h says. Each client has a connection of its own
// to this machine; an answer that is not 200 ends the run.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "benchmarks/closed_loop.h"
#include "benchmarks/http_connection.h"

namespace {

using Connection = hearth::benchmarks::HttpConnection<boost::asio::ip::tcp::socket>;

bool Ask(Connection& connection, const std::string& request) {
  boost::asio::write(connection.stream, boost::asio::buffer(request));
  const auto answer = connection.Read();
  if (answer.result() == boost::beast::http::status::ok) return true;
  std::cerr << "answered " << answer.result_int() << ": " << answer.body().substr(0, 300) << "\n";
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
    auto connection = std::make_shared<Connection>();
    hearth::benchmarks::Open(connection->stream, "127.0.0.1", port);
    return [connection, &request] { return Ask(*connection, request); };
  });
}
