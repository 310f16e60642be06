// What the HTTP port answers: /metrics, /v2/health/live, /v2/health/ready, /v2/models/NAME[/versions/VERSION]/ready.
#pragma once

#include <prometheus/collectable.h>

#include "server/api/inference_service.h"
#include "server/repository/repository.h"
#include "server/telemetry/http_server.h"

namespace hearth::server {

// Everything given outlives the handler.
HttpHandler MakeHttpHandler(const Repository& repository, const Readiness& readiness,
                            const prometheus::Collectable& metrics);

}  // namespace hearth::server
