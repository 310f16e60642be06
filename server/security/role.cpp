#include "server/security/role.h"

namespace hearth::server {

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kAnyone:
      return "anyone";
    case Role::kInfer:
      return "infer";
    case Role::kRead:
      return "read";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Role> RoleNamed(std::string_view name) {
  for (const Role role : {Role::kInfer, Role::kRead, Role::kAdmin}) {
    if (name == RoleName(role)) return role;
  }
  return std::nullopt;
}

}  // namespace hearth::server
