#include "server/http/guarded_handler.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/security/method_roles.h"

namespace hearth::server {
namespace {

HttpResponse RefusalOf(const absl::Status& status) {
  HttpResponse response{.status = 403, .body = absl::StrCat(status.message(), "\n")};
  if (absl::IsUnimplemented(status)) response.status = 404;
  if (absl::IsUnauthenticated(status)) {
    response.status = 401;
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"hearth\"");
  }
  return response;
}

class GuardedHandler : public HttpHandler {
 public:
  GuardedHandler(std::shared_ptr<HttpHandler> handler, AccessControl& access)
      : handler_(std::move(handler)), access_(access) {}

  HttpAdmission Admit(const HttpRequest& head) override {
    const absl::Status status = Decide(head);
    if (status.ok()) return handler_->Admit(head);
    return {.refusal = handler_->Refusal(RefusalOf(status))};
  }

  void Handle(HttpRequest request, HttpResponder responder) override {
    handler_->Handle(std::move(request), std::move(responder));
  }

  HttpResponse Refusal(HttpResponse refusal) override { return handler_->Refusal(std::move(refusal)); }

 private:
  absl::Status Decide(const HttpRequest& head) {
    const bool from_web_page = head.Header("origin") != nullptr;
    if (access_.open() && !from_web_page) return absl::OkStatus();
    const auto role = RoleOfRoute(head.method, head.path);
    if (access_.open() && role != Role::kAdmin) return absl::OkStatus();
    // A page of another site can have a browser send this, to whatever the browser can connect to.
    if (role == Role::kAdmin && !access_.has_tokens() && from_web_page) {
      return access_.Refuse("administration from a web page needs a token", head.path, head.peer);
    }
    const std::string* header = head.Header("authorization");
    return access_.Check(role, header == nullptr ? std::nullopt : std::optional<std::string_view>(*header), head.path,
                         head.peer);
  }

  const std::shared_ptr<HttpHandler> handler_;
  AccessControl& access_;
};

}  // namespace

std::shared_ptr<HttpHandler> MakeGuardedHandler(std::shared_ptr<HttpHandler> handler, AccessControl& access) {
  return std::make_shared<GuardedHandler>(std::move(handler), access);
}

}  // namespace hearth::server
