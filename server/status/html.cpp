#include "server/status/html.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jit/support/text.h"

namespace hearth::server {
namespace {

bool IsUnreserved(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

Html& Html::Text(std::string_view text) {
  for (const char c : ToUtf8(std::string(text))) {
    switch (c) {
      case '&':
        out_ += "&amp;";
        break;
      case '<':
        out_ += "&lt;";
        break;
      case '>':
        out_ += "&gt;";
        break;
      case '"':
        out_ += "&quot;";
        break;
      case '\'':
        out_ += "&#39;";
        break;
      case '\0':
        out_ += "\xef\xbf\xbd";  // U+FFFD, which HTML reads it as
        break;
      default:
        out_ += c;
    }
  }
  return *this;
}

Html& Html::PathPart(std::string_view part) {
  for (const char c : part) {
    if (IsUnreserved(c)) {
      out_ += c;
    } else {
      absl::StrAppend(&out_, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return *this;
}

}  // namespace hearth::server
