#include "server/rest/probe_handler.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rest/http_status.h"

namespace hearth::server {
namespace {

// As Triton does, and as the protocol has it: 400 for no.
HttpResponse ReadyAnswer(bool ready, std::string_view why_not) {
  return ready ? HttpResponse{.content_type = "application/json"} : ErrorAnswer(400, why_not);
}

}  // namespace

bool ProbeHandler::Knows(const std::string& path, const std::optional<RestPath>& known) {
  if (path == "/metrics") return true;
  return known && (known->resource == Resource::kServerLive || known->resource == Resource::kServerReady ||
                   known->resource == Resource::kModelReady);
}

HttpAdmission ProbeHandler::Admit(const HttpRequest& head) {
  if (!Knows(head.path, ParseRestPath(head.path))) {
    return {.refusal = ErrorAnswer(404, absl::StrCat("there is nothing at ", head.path))};
  }
  if (head.method == "GET" || head.method == "HEAD") return {};
  HttpResponse refusal = ErrorAnswer(405, absl::StrCat(head.path, " takes GET and HEAD, not ", head.method));
  refusal.headers.emplace_back("Allow", "GET, HEAD");
  return {.refusal = std::move(refusal)};
}

void ProbeHandler::Handle(HttpRequest request, HttpResponder responder) {
  if (request.path == "/metrics") return page_.Answer(std::move(responder));
  responder.Answer(AnswerTo(request.path));
}

HttpResponse ProbeHandler::Refusal(HttpResponse refusal) {
  if (refusal.content_type == "application/json") return refusal;
  while (refusal.body.ends_with('\n')) refusal.body.pop_back();
  HttpResponse answer = ErrorAnswer(refusal.status, refusal.body);
  answer.headers.insert(answer.headers.end(), std::make_move_iterator(refusal.headers.begin()),
                        std::make_move_iterator(refusal.headers.end()));
  return answer;
}

HttpResponse ProbeHandler::AnswerTo(const std::string& path) const {
  const RestPath asked = *ParseRestPath(path);
  switch (asked.resource) {
    case Resource::kServerLive:
      return ReadyAnswer(true, "");
    case Resource::kServerReady:
      return ReadyAnswer(readiness_.Ready(repository_), "the server is not ready");
    default:
      break;
  }
  const absl::Status status = repository_.CheckReady(asked.model, asked.version);
  if (absl::IsInvalidArgument(status)) return ErrorAnswer(status);
  return ReadyAnswer(status.ok() && !readiness_.draining, "the model's version is not ready");
}

}  // namespace hearth::server
