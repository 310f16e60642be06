#include "cli/method_source.h"

#include <algorithm>

#include "cli/text.h"

namespace hearth::cli {
namespace {

size_t IndentOf(std::string_view line) { return line.find_first_not_of(' '); }

// The lines from the one that starts with `head`, up to the next that is indented no deeper.
std::string BlockOf(std::string_view text, std::string_view head) {
  const size_t indent = IndentOf(head);
  std::string block;
  for (const std::string_view line : SplitText(text, '\n')) {
    if (block.empty()) {
      if (line.starts_with(head)) block.append(line).append("\n");
      continue;
    }
    if (!line.empty() && IndentOf(line) <= indent) break;
    block.append(line).append("\n");
  }
  while (block.ends_with("\n\n")) block.pop_back();
  return block;
}

}  // namespace

std::pair<std::string, std::string> MethodSource(const std::vector<std::pair<std::string, std::string>>& files,
                                                 const c10::FunctionSchema& schema, std::string_view method) {
  if (schema.arguments().empty()) return {};
  const std::string class_name = schema.arguments().front().type()->annotation_str();
  const size_t dot = class_name.rfind('.');
  if (dot == std::string::npos) return {};
  std::string file = class_name.substr(0, dot);
  std::replace(file.begin(), file.end(), '.', '/');
  file += ".py";
  for (const auto& [name, text] : files) {
    if (!name.ends_with(file)) continue;
    const std::string body = BlockOf(text, "class " + class_name.substr(dot + 1) + "(");
    return {name, BlockOf(body, "  def " + std::string(method) + "(")};
  }
  return {};
}

}  // namespace hearth::cli
