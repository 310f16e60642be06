// What an error is over HTTP: Triton's status for it, and Triton's form, {"error": "..."}.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "server/http/http_message.h"

namespace hearth::server {

// As Triton's HTTP server answers: 400 for what the client can mend, 404, 500, 501 and 503 for what is not there, fails
// inside, is not offered or has no room or time now. 413 for kOutOfRange: a body that is too large.
int HttpStatusOf(const absl::Status& status);

HttpResponse ErrorAnswer(int status, std::string_view message);
// With retry advice in Retry-After, whole seconds.
HttpResponse ErrorAnswer(const absl::Status& status);

}  // namespace hearth::server
