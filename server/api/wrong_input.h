// How an input that does not fit is refused.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {

// kInvalidArgument: "input 'NAME' " and the words.
template <typename... Words>
absl::Status WrongInput(const std::string& name, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("input '", name, "' ", words...));
}

}  // namespace hearth::server
