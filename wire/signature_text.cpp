#include "wire/signature_text.h"

#include <algorithm>
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

// As much of it as is written, from there on.
std::string Cut(const std::string& text, size_t begin = 0) {
  if (text.size() <= kLongestSignature) return text;
  const std::string part = text.substr(begin, kLongestSignature);
  return absl::StrCat(begin > 0 ? "..." : "", part, begin + part.size() < text.size() ? "..." : "");
}

// Where to begin so that what is written of two texts that differ differs.
size_t BeginOfDifference(const std::string& one, const std::string& other) {
  const size_t same = std::ranges::mismatch(one, other).in1 - one.begin();
  return same < kLongestSignature ? 0 : same - kLongestSignature / 2;
}

}  // namespace

std::string SignatureText(std::span<const ParameterText> parameters, const std::string& result) {
  const auto write = [](std::string* out, const ParameterText& parameter) {
    absl::StrAppend(out, WithoutMarks(parameter.type), " ", parameter.name, parameter.has_default ? "=..." : "");
  };
  return absl::StrCat("(", absl::StrJoin(parameters, ", ", write), ") -> ", WithoutMarks(result));
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
      const size_t begin = BeginOfDifference(was, found->second);
      differences.push_back(
          absl::StrCat(kind, " '", name, "' was ", Cut(was, begin), ", is ", Cut(found->second, begin)));
    }
  }
  for (const auto& [name, is] : now) {
    if (!before.contains(name)) differences.push_back(absl::StrCat(kind, " '", name, "' is new: ", Cut(is)));
  }
  return differences;
}

}  // namespace hearth
