// Decides whether a request may be, by the role that it needs (method_roles.h) and the token that it brings. Health
// needs none. Without a file of tokens everything is open, except administration where it is off. Thread-safe; the
// checks take no time to speak of.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/security/refusal_log.h"
#include "server/security/role.h"
#include "server/security/tokens.h"

namespace hearth::server {

enum class Administration {
  kOn,     // for everybody; with tokens, for those that have the role
  kOff,    // for nobody
  kToken,  // for tokens with the role alone
};

struct AccessSettings {
  Administration administration = Administration::kOn;
  std::string token_file;  // empty: none
};

class AccessControl {
 public:
  // kInvalidArgument or kFailedPrecondition for tokens that cannot be read, or that there are none of where
  // administration wants some.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Create(AccessSettings settings);

  // Whether every request may be, so that nobody needs to ask.
  bool open() const { return !has_tokens() && settings_.administration == Administration::kOn; }
  bool has_tokens() const { return !settings_.token_file.empty(); }

  // `role`: none if what is asked for has no line in the table. `authorization` is the header of that name, "Bearer
  // ..."; `what` and `peer` are for the log. kUnauthenticated without a token that is known, kPermissionDenied if that
  // is not for the role, kUnimplemented for what has no role.
  absl::Status Check(std::optional<Role> role, std::optional<std::string_view> authorization, std::string_view what,
                     std::string_view peer);

  // For a reason that the caller knows: kPermissionDenied.
  absl::Status Refuse(std::string_view why, std::string_view what, std::string_view peer);

  // Reads the tokens again. If they are wrong, those that there were stay, and the log says why.
  void Reload();

 private:
  explicit AccessControl(AccessSettings settings) : settings_(std::move(settings)) {}

  absl::Status Decide(Role role, std::optional<std::string_view> authorization) const;
  std::shared_ptr<const Tokens> tokens() const;

  const AccessSettings settings_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;
  RefusalLog refusals_;
};

}  // namespace hearth::server
