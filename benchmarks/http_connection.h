// A client's connection over HTTP/1.1, for one thread. What fails throws boost::system::system_error.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <string>
#include <utility>

namespace hearth::benchmarks {

// Of a socket, or of TLS over one.
template <typename Stream>
struct HttpConnection {
  template <typename... Arguments>
  explicit HttpConnection(Arguments&&... arguments) : stream(io, std::forward<Arguments>(arguments)...) {}

  // An answer of any length.
  boost::beast::http::response<boost::beast::http::string_body> Read() {
    boost::beast::http::response_parser<boost::beast::http::string_body> parser;
    parser.body_limit(boost::none);
    boost::beast::http::read(stream, buffer, parser);
    return parser.release();
  }

  boost::asio::io_context io;
  Stream stream;
  boost::beast::flat_buffer buffer;
};

inline void Open(boost::asio::ip::tcp::socket& socket, const std::string& host, const std::string& port) {
  boost::asio::ip::tcp::resolver resolver(socket.get_executor());
  boost::asio::connect(socket, resolver.resolve(host, port));
  socket.set_option(boost::asio::ip::tcp::no_delay(true));
}

}  // namespace hearth::benchmarks
