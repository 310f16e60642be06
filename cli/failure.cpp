#include "cli/failure.h"

#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/text.h"
#include "jit/support/logging.h"

namespace hearth::cli {
namespace {

constexpr std::string_view kHere = "<--- HERE";

bool IsMarker(std::string_view line) { return line.find_first_not_of("~^ ") == std::string_view::npos; }

// "builtins.ValueError: ..."
bool BeginsWithClass(std::string_view line) {
  const size_t end = line.find_first_of(": (\n");
  if (end == 0 || end == std::string_view::npos || line[end] != ':') return false;
  return std::isalpha(static_cast<unsigned char>(line.front())) != 0 || line.front() == '_';
}

}  // namespace

bool ModelRaised(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kResourceExhausted;
}

std::string RaisedMessage(const absl::Status& status) {
  const std::string traceback = MessageOf(status);
  std::string_view text = traceback;
  if (const size_t last = text.rfind(kHere); last != std::string_view::npos) text.remove_prefix(last + kHere.size());
  // Source lines may follow the place; they are indented, or do not look like a class and a colon.
  for (size_t line = 0; line < text.size();) {
    if (BeginsWithClass(text.substr(line))) return std::string(StripText(text.substr(line)));
    const size_t end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string(StripText(text));
}

std::string OneLine(std::string_view text) {
  std::string joined;
  for (std::string_view line : SplitText(text, '\n')) {
    line = StripText(line);
    if (const size_t here = line.find(kHere); here != std::string_view::npos) line = line.substr(0, here);
    if (line.empty() || IsMarker(line)) continue;
    if (!joined.empty()) joined += joined.back() == ':' ? " " : "; ";
    joined += line;
  }
  return joined;
}

std::string EscapeLine(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\r':
        escaped += "\\r";
        break;
      case '\t':
        escaped += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char code[5];
          std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
          escaped += code;
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

int FailWithLine(std::string_view command, std::string_view message) {
  const std::string line = OneLine(message);
  const std::string program = command.empty() ? "hearth" : "hearth " + std::string(command);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), line.c_str());
  return kBadUse;
}

int FailWithStatus(std::string_view command, const absl::Status& status) {
  const std::string message = MessageOf(status);
  if (ModelRaised(status)) {
    std::fprintf(stderr, "%s%s", message.c_str(), message.ends_with('\n') ? "" : "\n");
    return kModelRaised;
  }
  LoggerOf("cli").debug("{}", message);
  return FailWithLine(command, message);
}

}  // namespace hearth::cli
