// Names of tensors that are parts of a value: "boxes.0.scores" is a part of "boxes".
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
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

// 3 for "INPUT__3".
inline std::optional<int> PositionIn(const std::string& head) {
  const size_t mark = head.rfind("__");
  int position = 0;
  if (mark == std::string::npos || mark + 2 == head.size()) return std::nullopt;
  for (size_t i = mark + 2; i < head.size(); ++i) {
    if (head[i] < '0' || head[i] > '9') return std::nullopt;
  }
  if (!absl::SimpleAtoi(head.substr(mark + 2), &position)) return std::nullopt;
  return position;
}

}  // namespace hearth::server
