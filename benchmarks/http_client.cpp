// Measures one server with POST /v2/models/MODEL/infer of one binary FP32 tensor, one at a time from each of a number
// of clients:
//   http_client HOST PORT MODEL BYTES CLIENTS SECONDS [CA.pem]
// prints what closed_loop.h says. Each client has a connection of its own, over TLS if certificates are given that it
// is to trust, and checks that the answer ends with the request's bytes.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/http.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "benchmarks/closed_loop.h"
#include "benchmarks/http_connection.h"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using hearth::benchmarks::HttpConnection;
using Tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;

constexpr const char* kHeaderLength = "Inference-Header-Content-Length";

Request MakeRequest(const std::string& host, const std::string& model, size_t bytes) {
  const std::string header = R"({"inputs":[{"name":"INPUT__0","datatype":"FP32","shape":[)" +
                             std::to_string(bytes / 4) + R"(],"parameters":{"binary_data_size":)" +
                             std::to_string(bytes) + R"(}}],"parameters":{"binary_data_output":true}})";
  Request request(http::verb::post, "/v2/models/" + model + "/infer", 11);
  request.set(http::field::host, host);
  request.set(http::field::content_type, "application/octet-stream");
  request.set(kHeaderLength, std::to_string(header.size()));
  request.body() = header + std::string(bytes, '\x3c');
  request.prepare_payload();
  return request;
}

template <typename Stream>
hearth::benchmarks::Call CallOver(std::shared_ptr<HttpConnection<Stream>> connection, const Request& request,
                                  size_t bytes) {
  return [connection, &request, bytes] {
    http::write(connection->stream, request);
    const http::response<http::string_body> answer = connection->Read();
    const std::string_view body = answer.body();
    const std::string_view sent = request.body();
    if (answer.result() == http::status::ok && body.size() >= bytes &&
        body.substr(body.size() - bytes) == sent.substr(sent.size() - bytes)) {
      return true;
    }
    std::cerr << "wrong answer: " << answer.result_int() << " " << body.substr(0, 300) << "\n";
    return false;
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7 && argc != 8) {
    std::cerr << "usage: http_client HOST PORT MODEL BYTES CLIENTS SECONDS [CA.pem]\n";
    return 2;
  }
  const std::string host = argv[1];
  const std::string port = argv[2];
  const size_t bytes = std::stoul(argv[4]);
  const Request request = MakeRequest(host, argv[3], bytes);
  asio::ssl::context tls(asio::ssl::context::tls_client);
  if (argc == 8) {
    tls.load_verify_file(argv[7]);
    tls.set_verify_mode(asio::ssl::verify_peer);
  }
  return hearth::benchmarks::RunClosedLoop(std::stoi(argv[5]), std::stod(argv[6]), [&](int) {
    if (argc == 8) {
      auto connection = std::make_shared<HttpConnection<asio::ssl::stream<Tcp::socket>>>(tls);
      hearth::benchmarks::Open(connection->stream.next_layer(), host, port);
      connection->stream.handshake(asio::ssl::stream_base::client);
      return CallOver(connection, request, bytes);
    }
    auto connection = std::make_shared<HttpConnection<Tcp::socket>>();
    hearth::benchmarks::Open(connection->stream, host, port);
    return CallOver(connection, request, bytes);
  });
}
