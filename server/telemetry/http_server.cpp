#include "server/telemetry/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// civetweb would write to stderr what concerns one broken connection only.
int DropMessage(const mg_connection* connection, const char* message) { return 1; }

// Connects to a port of this machine and hangs up.
void Knock(int port) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Whether it succeeds is seen by the caller's loop alone.
  (void)connect(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  close(socket_fd);
}

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options, HttpHandler handler) {
  static std::once_flag initialised;
  std::call_once(initialised, [] { mg_init_library(0); });

  const std::string host = absl::StrContains(options.host, ':') ? absl::StrCat("[", options.host, "]") : options.host;
  const std::string address = absl::StrCat(host, ":", options.port);
  const std::string threads = absl::StrCat(options.threads);
  const char* settings[] = {"listening_ports",
                            address.c_str(),
                            "num_threads",
                            threads.c_str(),
                            "enable_keep_alive",
                            "yes",
                            "keep_alive_timeout_ms",
                            "5000",
                            "request_timeout_ms",
                            "10000",
                            nullptr};

  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler)));
  mg_callbacks callbacks{};
  callbacks.log_message = DropMessage;
  mg_init_data init{};
  init.callbacks = &callbacks;
  init.configuration_options = settings;
  char error_text[256] = "";
  unsigned error_code = 0;
  mg_error_data error{};
  error.code = &error_code;
  error.text = error_text;
  error.text_buffer_size = sizeof(error_text);
  server->context_ = mg_start2(&init, &error);
  if (server->context_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve HTTP at ", address, ": ", error_text));
  }
  mg_server_port port{};
  if (mg_get_server_ports(server->context_, 1, &port) == 1) server->port_ = port.port;
  mg_set_request_handler(server->context_, "**", &HttpServer::Answer, server.get());
  return server;
}

HttpServer::~HttpServer() {
  if (context_ == nullptr) return;
  // civetweb looks at its stop flag when a connection comes, else every two seconds only: knock until it has stopped.
  std::atomic<bool> stopped{false};
  std::thread knocker([&] {
    while (!stopped) {
      Knock(port_);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  mg_stop(context_);
  stopped = true;
  knocker.join();
}

int HttpServer::Answer(mg_connection* connection, void* self) {
  const mg_request_info* info = mg_get_request_info(connection);
  HttpResponse response;
  try {
    response = static_cast<HttpServer*>(self)->handler_({info->request_method, info->local_uri});
  } catch (const std::exception& error) {
    response = {500, "text/plain; charset=utf-8", absl::StrCat(error.what(), "\n")};
  }
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\nContent-Type: ", response.content_type,
      "\r\nContent-Length: ", response.body.size(), "\r\nConnection: keep-alive\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (std::string_view(info->request_method) != "HEAD") {
    mg_write(connection, response.body.data(), response.body.size());
  }
  return response.status;
}

}  // namespace hearth::server
