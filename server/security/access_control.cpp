#include "server/security/access_control.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/security/security_log.h"
#include "server/security/text_file.h"

namespace hearth::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";

absl::StatusOr<std::shared_ptr<const Tokens>> ReadTokens(const std::string& file) {
  const auto text = ReadTextFile(file);
  if (!text.ok()) return text.status();
  auto tokens = Tokens::Parse(*text, file);
  if (!tokens.ok()) return tokens.status();
  return std::make_shared<const Tokens>(*std::move(tokens));
}

// The token of "Bearer TOKEN"; nothing for another scheme.
std::optional<std::string_view> TokenOf(std::string_view authorization) {
  if (!absl::StartsWithIgnoreCase(absl::string_view(authorization.data(), authorization.size()),
                                  absl::string_view(kScheme.data(), kScheme.size()))) {
    return std::nullopt;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Create(AccessSettings settings) {
  std::unique_ptr<AccessControl> control(new AccessControl(std::move(settings)));
  const AccessSettings& wanted = control->settings_;
  if (!control->has_tokens()) {
    if (wanted.administration == Administration::kToken) {
      return absl::InvalidArgumentError("administration needs a token, and there is no file of tokens");
    }
    return control;
  }
  auto tokens = ReadTokens(wanted.token_file);
  if (!tokens.ok()) return tokens.status();
  control->tokens_ = *std::move(tokens);
  return control;
}

void AccessControl::Reload() {
  if (!has_tokens()) return;
  auto tokens = ReadTokens(settings_.token_file);
  if (!tokens.ok()) {
    SecurityLog().error("the tokens stay as they were: {}", std::string(tokens.status().message()));
    return;
  }
  SecurityLog().info("{} tokens are read from {}", (*tokens)->size(), settings_.token_file);
  std::lock_guard lock(mutex_);
  tokens_ = *std::move(tokens);
}

std::shared_ptr<const Tokens> AccessControl::tokens() const {
  std::lock_guard lock(mutex_);
  return tokens_;
}

absl::Status AccessControl::Check(std::optional<Role> role, std::optional<std::string_view> authorization,
                                  std::string_view what, std::string_view peer) {
  if (role == Role::kAnyone) return absl::OkStatus();
  if (!role) return absl::UnimplementedError("there is nothing of that name here");
  absl::Status status = Decide(*role, authorization);
  if (!status.ok()) refusals_.Write(what, peer, {status.message().data(), status.message().size()});
  return status;
}

absl::Status AccessControl::Refuse(std::string_view why, std::string_view what, std::string_view peer) {
  refusals_.Write(what, peer, why);
  return absl::PermissionDeniedError(absl::string_view(why.data(), why.size()));
}

absl::Status AccessControl::Decide(Role role, std::optional<std::string_view> authorization) const {
  if (role == Role::kAdmin && settings_.administration == Administration::kOff) {
    return absl::PermissionDeniedError("administration is off here");
  }
  if (!has_tokens()) return absl::OkStatus();
  if (!authorization) return absl::UnauthenticatedError("a bearer token is needed");
  const auto token = TokenOf(*authorization);
  if (!token) return absl::UnauthenticatedError("a bearer token is needed, not another kind of authorization");
  const auto known = tokens();
  const Tokens::Holder* holder = known->Find(*token);
  if (holder == nullptr) return absl::UnauthenticatedError("the bearer token is not known here");
  if (holder->Has(role)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the token of ", holder->name, " does not have the role ", std::string(RoleName(role))));
}

}  // namespace hearth::server
