#include "server/repository/labels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/security/text_file.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;

// A client may send the configuration: it must not read what lies elsewhere.
bool StaysInside(const fs::path& name) {
  return name.is_relative() && std::ranges::none_of(name, [](const fs::path& part) { return part == ".."; });
}

absl::StatusOr<std::vector<std::string>> ReadLines(const fs::path& file) {
  const auto text = ReadTextFile(file, kMostLabelBytes);
  if (!text.ok()) return text.status();
  std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  // The last line ends with its break.
  if (lines.back().empty()) lines.pop_back();
  for (std::string& line : lines) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
  }
  return lines;
}

// Of one output.
absl::StatusOr<std::vector<std::string>> ReadOutputLabels(const fs::path& folder, const std::string& name,
                                                          const PathResolver& resolve) {
  if (!StaysInside(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("label_filename is '", name, "', which is not in the model's folder"));
  }
  const auto file = resolve(folder / name);
  if (!file.ok()) return file.status();
  return ReadLines(*file);
}

}  // namespace

absl::StatusOr<Labels> ReadLabels(const fs::path& folder, const inference::ModelConfig& config,
                                  const PathResolver& resolve) {
  Labels labels;
  size_t count = 0;
  for (const auto& output : config.output()) {
    if (output.label_filename().empty()) continue;
    auto lines = ReadOutputLabels(folder, output.label_filename(), resolve);
    absl::Status status = lines.status();
    if (status.ok()) count += lines->size();
    if (count > kMostLabels) {
      status = absl::InvalidArgumentError(absl::StrCat("a model may have ", kMostLabels, " labels, not more"));
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("output '", output.name(), "': ", status.message()));
    }
    labels[output.name()] = *std::move(lines);
  }
  return labels;
}

}  // namespace hearth::server
