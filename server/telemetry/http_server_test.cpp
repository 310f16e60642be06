#include "server/telemetry/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace hearth::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What a server on this machine answers to these bytes, until it closes the connection.
std::string Exchange(int port, const std::string& request) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(send(socket_fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t size; (size = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, size);
  close(socket_fd);
  return answer;
}

std::unique_ptr<HttpServer> StartEcho() {
  auto server = HttpServer::Start({.host = "127.0.0.1", .port = 0, .threads = 2}, [](const HttpRequest& request) {
    if (request.path == "/throws") throw std::runtime_error("no such luck");
    if (request.path == "/busy") return HttpResponse{503, "text/plain", "later"};
    return HttpResponse{200, "text/plain", std::string(request.method) + " " + std::string(request.path)};
  });
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(HttpServer, AHandlersAnswerReachesTheClient) {
  const auto server = StartEcho();
  ASSERT_GT(server->port(), 0);
  const std::string answer = Exchange(server->port(), "GET /a/b?x=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nGET /a/b"));
}

TEST(HttpServer, AHandlersStatusIsKept) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), "GET /busy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
}

TEST(HttpServer, AHandlerThatThrowsIsAnInternalError) {
  const auto server = StartEcho();
  const std::string answer = Exchange(server->port(), "GET /throws HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("no such luck"));
}

TEST(HttpServer, AHeadRequestGetsNoBody) {
  const auto server = StartEcho();
  EXPECT_THAT(Exchange(server->port(), "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              EndsWith("\r\n\r\n"));
}

TEST(HttpServer, ATakenPortIsAClearError) {
  const auto first = StartEcho();
  const auto second = HttpServer::Start({.host = "127.0.0.1", .port = first->port()}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(first->port())));
}

}  // namespace
}  // namespace hearth::server
