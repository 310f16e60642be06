#include "wire/signature_text.h"

#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth {
namespace {

std::string WithoutMarks(const std::string& type) {
  static const std::regex mangled("___torch_mangle_[0-9]+\\.");
  return std::regex_replace(type, mangled, "");
}

}  // namespace

std::string CutSignature(std::string text) {
  if (text.size() <= kLongestSignature) return text;
  return absl::StrCat(text.substr(0, kLongestSignature), "...");
}

std::string SignatureText(std::span<const ParameterText> parameters, const std::string& result) {
  const auto write = [](std::string* out, const ParameterText& parameter) {
    absl::StrAppend(out, WithoutMarks(parameter.type), " ", parameter.name, parameter.has_default ? "=..." : "");
  };
  return CutSignature(absl::StrCat("(", absl::StrJoin(parameters, ", ", write), ") -> ", WithoutMarks(result)));
}

std::string SignatureText(std::span<const c10::Argument> arguments, std::span<const c10::Argument> returns) {
  std::vector<ParameterText> parameters;
  for (const c10::Argument& argument : arguments) {
    parameters.push_back({argument.type()->annotation_str(), argument.name(), argument.default_value().has_value()});
  }
  const auto type = [](std::string* out, const c10::Argument& argument) { *out += argument.type()->annotation_str(); };
  return SignatureText(parameters, absl::StrJoin(returns, ", ", type));
}

std::vector<std::string> Differences(const std::string& kind, const Descriptions& before, const Descriptions& now) {
  std::vector<std::string> differences;
  for (const auto& [name, was] : before) {
    const auto found = now.find(name);
    if (found == now.end()) {
      differences.push_back(absl::StrCat(kind, " '", name, "' is gone"));
    } else if (found->second != was) {
      differences.push_back(absl::StrCat(kind, " '", name, "' was ", was, ", is ", found->second));
    }
  }
  for (const auto& [name, is] : now) {
    if (!before.contains(name)) differences.push_back(absl::StrCat(kind, " '", name, "' is new: ", is));
  }
  return differences;
}

}  // namespace hearth
