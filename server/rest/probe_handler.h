// What every HTTP port answers: /metrics, /v2/health/live, /v2/health/ready, /v2/models/NAME[/versions/VERSION]/ready.
// Probes are answered on HTTP's own thread, whatever else is under way.
#pragma once

#include <prometheus/collectable.h>

#include <optional>
#include <string>

#include "server/api/readiness.h"
#include "server/http/http_server.h"
#include "server/repository/repository.h"
#include "server/rest/metrics_page.h"
#include "server/rest/rest_path.h"

namespace hearth::server {

class ProbeHandler : public HttpHandler {
 public:
  // All given outlive the handler.
  ProbeHandler(const Repository& repository, const Readiness& readiness, const prometheus::Collectable& metrics)
      : repository_(repository), readiness_(readiness), page_(metrics) {}

  // Whether the path is one of those above; `known` is what ParseRestPath says of it.
  static bool Knows(const std::string& path, const std::optional<RestPath>& known);

  HttpAdmission Admit(const HttpRequest& head) override;
  void Handle(HttpRequest request, HttpResponder responder) override;
  HttpResponse Refusal(HttpResponse refusal) override;

 private:
  HttpResponse AnswerTo(const std::string& path) const;

  const Repository& repository_;
  const Readiness& readiness_;
  MetricsPage page_;
};

}  // namespace hearth::server
