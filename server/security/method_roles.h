// Which role each gRPC method and each HTTP route needs. What is not here is refused wherever roles are looked at, so a
// method that is added needs its line in the table; a test compares the table with the services' descriptors.
#pragma once

#include <optional>
#include <string_view>

#include "server/security/role.h"

namespace hearth::server {

// `path` as HTTP/2 has it: "/inference.GRPCInferenceService/ModelInfer". Nothing for a method that is not known.
std::optional<Role> RoleOfMethod(std::string_view path);

// `path` without the query, percent-decoded. Nothing for a route that is not known.
std::optional<Role> RoleOfRoute(std::string_view http_method, std::string_view path);

}  // namespace hearth::server
