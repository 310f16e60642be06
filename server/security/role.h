// What a request may be for. Each gRPC method and each HTTP route needs one role; a token has any number of them, and
// none implies another.
#pragma once

#include <optional>
#include <string_view>

namespace hearth::server {

enum class Role {
  kAnyone,  // health: no token is needed
  kInfer,   // runs models
  kRead,    // metadata, statistics, metrics, the repository's index
  kAdmin,   // loads and unloads models, changes settings, registers shared memory
};

// "infer", "read", "admin".
std::string_view RoleName(Role role);
// The role of that name; kAnyone has none that could be given.
std::optional<Role> RoleNamed(std::string_view name);

}  // namespace hearth::server
