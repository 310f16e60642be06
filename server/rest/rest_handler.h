// The Open Inference Protocol over HTTP, with Triton's extensions: reads what a path asks for, has the method of the
// service (inference_methods.h) or the inference (rest_infer_task.h) do it, and writes its answer as JSON. HTTP's
// thread answers probes, reads inferences with little JSON, and runs those of models that are quicker than a hand-over
// (dispatcher.h). Other inferences and loads, whose bodies may be large, are read on threads of the runtime's pool;
// other requests, which wait for no model that runs, on a thread of their own.
#pragma once

#include <memory>

#include "server/api/inference_methods.h"
#include "server/api/request_task.h"
#include "server/http/http_server.h"
#include "server/rest/probe_handler.h"
#include "server/rest/rest_path.h"
#include "server/rest/work_thread.h"

namespace hearth::server {

class RestHandler : public HttpHandler {
 public:
  // All given outlive the handler. `probes` answers what it knows on this port, too.
  RestHandler(const RequestEnvironment& environment, InferenceMethods& methods, std::shared_ptr<ProbeHandler> probes)
      : environment_(environment), methods_(methods), probes_(std::move(probes)) {}

  HttpAdmission Admit(const HttpRequest& head) override;
  void Handle(HttpRequest request, HttpResponder responder) override;
  HttpResponse Refusal(HttpResponse refusal) override { return probes_->Refusal(std::move(refusal)); }

 private:
  void Infer(HttpRequest request, const RestPath& path, HttpResponder responder);
  void CallMethod(HttpRequest request, const RestPath& path, HttpResponder responder);

  const RequestEnvironment& environment_;
  InferenceMethods& methods_;
  const std::shared_ptr<ProbeHandler> probes_;
  WorkThread thread_;
};

}  // namespace hearth::server
