// How a host and a port are written together.
#pragma once

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {

// "127.0.0.1:8000", "[::1]:8000".
inline std::string Address(const std::string& host, int port) {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace hearth::server
