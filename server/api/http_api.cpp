#include "server/api/http_api.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/telemetry/metrics.h"

namespace hearth::server {
namespace {

HttpResponse Ready(bool ready) { return {ready ? 200 : 503, "text/plain; charset=utf-8", ""}; }

HttpResponse NotFound(std::string_view path) {
  return {404, "text/plain; charset=utf-8", absl::StrCat("there is nothing at ", std::string(path), "\n")};
}

}  // namespace

HttpHandler MakeHttpHandler(const Repository& repository, const Readiness& readiness,
                            const prometheus::Collectable& metrics) {
  return [&repository, &readiness, &metrics](const HttpRequest& request) -> HttpResponse {
    if (request.method != "GET" && request.method != "HEAD") {
      return {405, "text/plain; charset=utf-8", "this port answers GET and HEAD only\n"};
    }
    if (request.path == "/metrics") {
      return {200, "text/plain; version=0.0.4; charset=utf-8", MetricsText(metrics)};
    }
    if (request.path == "/v2/health/live") return Ready(true);
    if (request.path == "/v2/health/ready") return Ready(readiness.Ready(repository));

    const std::vector<std::string> parts = absl::StrSplit(std::string(request.path), '/');
    const bool names_model = parts.size() >= 5 && parts[0].empty() && parts[1] == "v2" && parts[2] == "models";
    if (names_model && parts.size() == 5 && parts[4] == "ready") {
      return Ready(!readiness.draining && repository.Find(parts[3], "").ok());
    }
    if (names_model && parts.size() == 7 && parts[4] == "versions" && parts[6] == "ready") {
      return Ready(!readiness.draining && repository.Find(parts[3], parts[5]).ok());
    }
    return NotFound(request.path);
  };
}

}  // namespace hearth::server
