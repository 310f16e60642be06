// The status page on the HTTP port, before the handler of everything else there:
//
//   /                                         leads to /status
//   /status, /status.json                     the server
//   /status/models/M/versions/V, and .json    one version, with its plans
//   /status/style.css, script.js, icon.svg    what the pages refer to; nothing comes from elsewhere
//
// Pages are written on a thread of their own. A policy in their headers lets them load from this server alone, and
// keeps other sites from showing or reading them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "server/http/http_server.h"
#include "server/rest/work_thread.h"
#include "server/status/server_status.h"

namespace hearth::server {

class StatusHandler : public HttpHandler {
 public:
  // Requests that may wait for their page; one more is refused with 503.
  static constexpr int kMostWaiting = 64;

  // `status` outlives the handler.
  StatusHandler(const ServerStatus& status, std::shared_ptr<HttpHandler> next)
      : status_(status), next_(std::move(next)) {}

  HttpAdmission Admit(const HttpRequest& head) override;
  void Handle(HttpRequest request, HttpResponder responder) override;
  HttpResponse Refusal(HttpResponse refusal) override { return next_->Refusal(std::move(refusal)); }

 private:
  HttpResponse MakePage(const std::string& path) const;

  const ServerStatus& status_;
  const std::shared_ptr<HttpHandler> next_;
  std::atomic<int> waiting_{0};
  WorkThread thread_;
};

}  // namespace hearth::server
