// A small HTTP port for probes and scrapers, over civetweb. Handlers run on civetweb's own few threads, so they may
// block for a moment; inference does not pass here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct mg_connection;
struct mg_context;

namespace hearth::server {

struct HttpRequest {
  std::string_view method;  // "GET"
  std::string_view path;    // "/metrics", percent-decoded, without the query
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Called from several threads at once.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  struct Options {
    std::string host = "0.0.0.0";
    int port = 8000;  // 0: any free port
    int threads = 4;
  };

  // Listens, and answers with `handler`, until destroyed. kUnavailable if the port cannot be had.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, HttpHandler handler);
  // Waits for handlers that run.
  ~HttpServer();

  int port() const { return port_; }

 private:
  explicit HttpServer(HttpHandler handler) : handler_(std::move(handler)) {}
  static int Answer(mg_connection* connection, void* self);

  HttpHandler handler_;
  mg_context* context_ = nullptr;
  int port_ = 0;
};

}  // namespace hearth::server
