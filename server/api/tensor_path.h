// Names of tensors that are parts of a value: "boxes.0.scores" is a part of "boxes".
#pragma once

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {

// "a.b.c" -> "a", "b.c"
inline std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) return {path, ""};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

inline std::string JoinPath(const std::string& name, const std::string& part) {
  return part.empty() ? name : absl::StrCat(name, ".", part);
}

}  // namespace hearth::server
