#include "server/http/guarded_handler.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/security/method_roles.h"

namespace hearth::server {
namespace {

// The status page, which browsers show: they can ask for a token as a password (RFC 7617). What a browser then sends by
// itself is taken for these routes alone, which change nothing, so that no other site's page can make use of it.
bool IsForBrowsers(std::string_view path) { return path == "/" || path == "/status" || path.starts_with("/status/"); }

// "Bearer TOKEN" of "Basic BASE64", where the password is the token; anything else as it is.
std::string AsBearer(std::string_view authorization) {
  constexpr std::string_view kBasic = "Basic ";
  std::string decoded;
  if (!authorization.starts_with(kBasic)) return std::string(authorization);
  authorization.remove_prefix(kBasic.size());
  if (!absl::Base64Unescape({authorization.data(), authorization.size()}, &decoded)) return "Basic";
  return absl::StrCat("Bearer ", decoded.substr(decoded.find(':') + 1));
}

HttpResponse RefusalOf(const absl::Status& status, std::string_view path) {
  HttpResponse response{.status = 403, .body = absl::StrCat(status.message(), "\n")};
  if (absl::IsUnimplemented(status)) response.status = 404;
  if (absl::IsUnauthenticated(status)) {
    response.status = 401;
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"hearth\"");
    if (IsForBrowsers(path)) response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"hearth\"");
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
    return {.refusal = handler_->Refusal(RefusalOf(status, head.path))};
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
    if (header == nullptr) return access_.Check(role, std::nullopt, head.path, head.peer);
    return access_.Check(role, IsForBrowsers(head.path) ? AsBearer(*header) : *header, head.path, head.peer);
  }

  const std::shared_ptr<HttpHandler> handler_;
  AccessControl& access_;
};

}  // namespace

std::shared_ptr<HttpHandler> MakeGuardedHandler(std::shared_ptr<HttpHandler> handler, AccessControl& access) {
  return std::make_shared<GuardedHandler>(std::move(handler), access);
}

}  // namespace hearth::server
