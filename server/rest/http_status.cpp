#include "server/rest/http_status.h"

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "server/rest/json_writer.h"
#include "server/scheduling/retry_advice.h"

namespace hearth::server {

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kOutOfRange:
      return 413;
    case absl::StatusCode::kInternal:
      return 500;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return 503;
    default:
      return 400;
  }
}

HttpResponse ErrorAnswer(int status, std::string_view message) {
  return {.status = status, .content_type = "application/json", .body = ErrorJson(ToUtf8(std::string(message)))};
}

HttpResponse ErrorAnswer(const absl::Status& status) {
  const absl::string_view message = status.message();
  HttpResponse answer = ErrorAnswer(HttpStatusOf(status), std::string_view(message.data(), message.size()));
  if (const auto delay = RetryAfterOf(status)) {
    answer.headers.emplace_back("Retry-After", absl::StrCat(std::chrono::ceil<std::chrono::seconds>(*delay).count()));
  }
  return answer;
}

}  // namespace hearth::server
