// What the HTTP port and the port of metrics answer: /metrics, /v2/health/live, /v2/health/ready,
// /v2/models/NAME[/versions/VERSION]/ready.
#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "server/api/readiness.h"
#include "server/http/http_server.h"
#include "server/repository/repository.h"

namespace hearth::server {

// Everything given outlives the handler.
std::shared_ptr<HttpHandler> MakeHttpHandler(const Repository& repository, const Readiness& readiness,
                                             const prometheus::Collectable& metrics);

}  // namespace hearth::server
