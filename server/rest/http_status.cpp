#include "server/rest/http_status.h"

#include <string>

#include "jit/support/text.h"
#include "server/rest/json_writer.h"

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
  return ErrorAnswer(HttpStatusOf(status), std::string_view(message.data(), message.size()));
}

}  // namespace hearth::server
