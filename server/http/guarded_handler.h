// A handler before another one: asks for the token that a route needs, before the request's body has come, and gives
// the other handler what may be. Answers 401, 403, and 404 where the route has no role.
#pragma once

#include <memory>

#include "server/http/http_server.h"
#include "server/security/access_control.h"

namespace hearth::server {

// `access` outlives the handler.
std::shared_ptr<HttpHandler> MakeGuardedHandler(std::shared_ptr<HttpHandler> handler, AccessControl& access);

}  // namespace hearth::server
