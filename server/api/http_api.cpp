#include "server/api/http_api.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/api/metrics_page.h"

namespace hearth::server {
namespace {

HttpResponse ReadyAnswer(bool ready) { return {.status = ready ? 200 : 503}; }

class ProbeHandler : public HttpHandler {
 public:
  ProbeHandler(const Repository& repository, const Readiness& readiness, const prometheus::Collectable& metrics)
      : repository_(repository), readiness_(readiness), page_(metrics) {}

  HttpAdmission Admit(const HttpRequest& head) override {
    if (head.method == "GET" || head.method == "HEAD") return {};
    return {.refusal = HttpResponse{
                .status = 405, .body = "this port answers GET and HEAD only\n", .headers = {{"Allow", "GET, HEAD"}}}};
  }

  void Handle(HttpRequest request, HttpResponder responder) override {
    if (request.path == "/metrics") return page_.Answer(std::move(responder));
    responder.Answer(AnswerTo(request.path));
  }

 private:
  HttpResponse AnswerTo(const std::string& path) const {
    if (path == "/v2/health/live") return ReadyAnswer(true);
    if (path == "/v2/health/ready") return ReadyAnswer(readiness_.Ready(repository_));

    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    const bool names_model = parts.size() >= 5 && parts[0].empty() && parts[1] == "v2" && parts[2] == "models";
    if (names_model && parts.size() == 5 && parts[4] == "ready") {
      return ReadyAnswer(!readiness_.draining && repository_.Find(parts[3], "").ok());
    }
    if (names_model && parts.size() == 7 && parts[4] == "versions" && parts[6] == "ready") {
      return ReadyAnswer(!readiness_.draining && repository_.Find(parts[3], parts[5]).ok());
    }
    return {.status = 404, .body = absl::StrCat("there is nothing at ", path, "\n")};
  }

  const Repository& repository_;
  const Readiness& readiness_;
  MetricsPage page_;
};

}  // namespace

std::shared_ptr<HttpHandler> MakeHttpHandler(const Repository& repository, const Readiness& readiness,
                                             const prometheus::Collectable& metrics) {
  return std::make_shared<ProbeHandler>(repository, readiness, metrics);
}

}  // namespace hearth::server
