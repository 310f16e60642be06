// One call of a method of the service over HTTP: its message is made of the request, and its answer written, on other
// threads than HTTP's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "jit/support/memory_account.h"
#include "server/api/guarded.h"
#include "server/api/inference_methods.h"
#include "server/api/request_task.h"
#include "server/http/http_server.h"
#include "server/rest/http_status.h"
#include "server/rest/json_value.h"

namespace hearth::server {

template <typename Request, typename Response>
struct Method {
  // Fills the message from the request's body, which is empty for GET.
  std::function<absl::Status(const JsonValue& body, Request& request)> read;                    // may be empty
  std::function<void(Request& request, Response& response, InferenceMethods::Done done)> call;  // may take the request
  // The answer's JSON; may be empty, for an answer without.
  std::function<std::string(const Response& response)> write;
};

template <typename Request, typename Response>
class MethodCall : public std::enable_shared_from_this<MethodCall<Request, Response>> {
 public:
  MethodCall(const RequestEnvironment& environment, HttpRequest http, HttpResponder responder,
             Method<Request, Response> method)
      : environment_(environment),
        http_(std::move(http)),
        responder_(std::move(responder)),
        method_(std::move(method)) {}

  // Has all of it done elsewhere: `post` runs work on another thread, or refuses it.
  void Start(const std::function<absl::Status(std::function<void()> work)>& post) {
    const auto self = this->shared_from_this();
    if (absl::Status posted = post([self] { self->Run(); }); !posted.ok()) Answer(std::move(posted));
  }

 private:
  void Run() {
    absl::Status status = Guarded([this] { return Read(); });
    if (!status.ok()) return Answer(std::move(status));
    const auto self = this->shared_from_this();
    status = Guarded([&] {
      method_.call(request_, response_, [self](absl::Status done) { self->Answer(std::move(done)); });
      return absl::OkStatus();
    });
    if (!status.ok()) Answer(std::move(status));
  }

  absl::Status Read() {
    if (environment_.memory != nullptr) {
      memory_.emplace(environment_.memory->limit(), environment_.memory);
      memory_->Charge(http_.body.size());
    }
    const MemoryAccount::Scope counting(memory_ ? &*memory_ : nullptr);
    const auto body = ParseJsonValue(http_.body.view());
    if (!body.ok()) return body.status();
    if (body->kind != JsonValue::Kind::kObject) return absl::InvalidArgumentError("the request's body is no object");
    // A model's files are not kept a second time while the model is loaded.
    http_.body = HttpBody();
    return method_.read ? method_.read(*body, request_) : absl::OkStatus();
  }

  void Answer(absl::Status status) {
    HttpResponse answer{.content_type = "application/json"};
    if (status.ok() && method_.write) {
      status = Guarded([&] {
        answer.body = method_.write(response_);
        return absl::OkStatus();
      });
    }
    responder_.Answer(status.ok() ? std::move(answer) : ErrorAnswer(status));
  }

  const RequestEnvironment& environment_;
  HttpRequest http_;  // whose body goes when it has been read
  const HttpResponder responder_;
  const Method<Request, Response> method_;
  std::optional<MemoryAccount> memory_;  // of the body and what is made of it
  Request request_;
  Response response_;
};

}  // namespace hearth::server
