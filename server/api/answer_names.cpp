#include "server/api/answer_names.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/api/tensor_path.h"
#include "wire/tensors_from_value.h"

namespace hearth::server {

std::vector<std::string> NamesOf(const std::vector<WireTensor>& leaves) {
  std::vector<std::string> names;
  for (const WireTensor& leaf : leaves) names.push_back(leaf.name.empty() ? kOnlyOutput : leaf.name);
  return names;
}

std::string NotInAnswer(const std::string& name, const std::vector<std::string>& names) {
  const std::string there = absl::StrJoin(
      names, ", ", [](std::string* out, const std::string& each) { absl::StrAppend(out, "'", each, "'"); });
  return absl::StrCat("output '", name, "' is not in the answer, which has ", there.empty() ? "none" : there);
}

AnswerNames::AnswerNames(const inference::ModelConfig& config, const std::vector<WireTensor>& leaves)
    : leaves_(leaves) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    places_.try_emplace(leaves[i].name, i);
    std::string head = SplitPath(leaves[i].name).first;
    if (heads_.empty() || heads_.back() != head) heads_.push_back(std::move(head));
  }
  for (int i = 0; i < config.output_size() && i < static_cast<int>(leaves.size()); ++i) {
    configured_.try_emplace(config.output(i).name(), i);
  }
}

const WireTensor* AnswerNames::Find(const std::string& name) const {
  if (const WireTensor* leaf = AtPath(name); leaf != nullptr && !name.empty()) return leaf;
  auto [head, rest] = SplitPath(name);
  if (const std::optional<int> position = PositionIn(head)) {
    if (leaves_.size() == 1 && leaves_[0].name.empty()) return *position == 0 && rest.empty() ? &leaves_[0] : nullptr;
    if (const WireTensor* leaf = AtPath(JoinPath(std::to_string(*position), rest))) return leaf;
    // Of a dict or of named fields: the part at that place.
    if (*position >= static_cast<int>(heads_.size())) return nullptr;
    return AtPath(JoinPath(heads_[*position], rest));
  }
  const auto place = configured_.find(name);
  return place == configured_.end() ? nullptr : &leaves_[place->second];
}

const WireTensor* AnswerNames::AtPath(const std::string& path) const {
  const auto place = places_.find(path);
  return place == places_.end() ? nullptr : &leaves_[place->second];
}

}  // namespace hearth::server
