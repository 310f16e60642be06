#include "server/status/status_handler.h"

#include <array>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/rest/http_status.h"
#include "server/rest/message_json.h"
#include "server/status/assets.h"
#include "server/status/model_page.h"
#include "server/status/overview_page.h"

namespace hearth::server {
namespace {

constexpr std::string_view kJsonEnding = ".json";

struct Asset {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};
constexpr std::array<Asset, 3> kAssets = {{{"/status/style.css", "text/css; charset=utf-8", kStyleCss},
                                           {"/status/script.js", "text/javascript; charset=utf-8", kScriptJs},
                                           {"/status/icon.svg", "image/svg+xml", kIconSvg}}};

const Asset* FindAsset(std::string_view path) {
  for (const Asset& asset : kAssets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

// A version of a model, of /status/models/M/versions/V; V may end in .json.
std::optional<std::pair<std::string, std::string>> ReadModelPath(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  if (parts.size() != 6 || parts[1] != "status" || parts[2] != "models" || parts[4] != "versions") return std::nullopt;
  return std::pair(parts[3], parts[5]);
}

bool Knows(const std::string& path) {
  // Most requests are for others.
  if (path != "/" && !path.starts_with("/status")) return false;
  return path == "/" || path == "/status" || path == "/status.json" || FindAsset(path) != nullptr ||
         ReadModelPath(path).has_value();
}

// What keeps a page to itself, whatever it may hold.
HttpResponse Guard(HttpResponse answer) {
  answer.headers.emplace_back("Content-Security-Policy",
                              "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
                              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  answer.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

HttpResponse HtmlAnswer(std::string page) {
  return {.content_type = "text/html; charset=utf-8", .body = std::move(page)};
}

HttpResponse JsonAnswer(const google::protobuf::Message& message) {
  return {.content_type = "application/json", .body = MessageJson(message)};
}

}  // namespace

HttpAdmission StatusHandler::Admit(const HttpRequest& head) {
  if (!Knows(head.path)) return next_->Admit(head);
  if (head.method == "GET" || head.method == "HEAD") return {};
  HttpResponse refusal = ErrorAnswer(405, absl::StrCat(head.path, " takes GET and HEAD, not ", head.method));
  refusal.headers.emplace_back("Allow", "GET, HEAD");
  return {.refusal = std::move(refusal)};
}

void StatusHandler::Handle(HttpRequest request, HttpResponder responder) {
  if (!Knows(request.path)) return next_->Handle(std::move(request), std::move(responder));
  if (request.path == "/") {
    HttpResponse answer{.status = 302, .headers = {{"Location", "/status"}}};
    return responder.Answer(Guard(std::move(answer)));
  }
  if (const Asset* asset = FindAsset(request.path)) {
    HttpResponse answer{.content_type = asset->content_type, .body = std::string(asset->text)};
    return responder.Answer(Guard(std::move(answer)));
  }
  if (waiting_.fetch_add(1) >= kMostWaiting) {
    --waiting_;
    return responder.Answer(ErrorAnswer(503, "too many requests wait for pages of the status"));
  }
  thread_.Post([this, path = std::move(request.path), responder = std::move(responder)] {
    responder.Answer(Guard(MakePage(path)));
    --waiting_;
  });
}

HttpResponse StatusHandler::MakePage(const std::string& path) const try {
  if (path == "/status") return HtmlAnswer(OverviewPage(status_.Describe()));
  if (path == "/status.json") return JsonAnswer(status_.Describe());
  auto [model, version] = *ReadModelPath(path);
  const bool as_json = version.ends_with(kJsonEnding);
  if (as_json) version.resize(version.size() - kJsonEnding.size());
  const auto described = status_.DescribeModel(model, version);
  if (!described.ok()) return ErrorAnswer(described.status());
  return as_json ? JsonAnswer(*described) : HtmlAnswer(ModelPage(*described));
} catch (const std::exception& error) {
  return ErrorAnswer(500, error.what());
}

}  // namespace hearth::server
