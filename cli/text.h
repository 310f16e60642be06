// Small tools for what is read and printed; on std::string_view, which Debian's abseil does not take.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hearth::cli {

inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// The pieces between `separator`s, empty ones included; at least one. They point into `text`.
inline std::vector<std::string_view> SplitText(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1) {
    pieces.push_back(text.substr(begin, end - begin));
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

// Without white space at either end.
inline std::string_view StripText(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

inline double Milliseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-6; }

}  // namespace hearth::cli
