#include "server/scheduling/waiting_calls.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace hearth::server {
namespace {

// Of the tensor that an entry of BatchPadding::inputs names, along all dimensions that are padded; 0: it is not given.
double ElementsOfRow(size_t entry, const std::vector<int64_t>& lengths, const BatchPadding& padding) {
  if (lengths[entry] == 0) return 0;
  double product = 1;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (padding.inputs[i].name != padding.inputs[entry].name || lengths[i] == 0) continue;
    product *= std::ceil(static_cast<double>(lengths[i]) / static_cast<double>(padding.multiple)) *
               static_cast<double>(padding.multiple);
  }
  return product;
}

}  // namespace

void WaitingCalls::Add(const BatchMemberPtr& member) {
  member->number = next_number_++;
  members_.emplace(member->place(), member);
  ++of_level_[member->level - 1];
}

void WaitingCalls::Remove(const BatchMemberPtr& member) {
  members_.erase(member->place());
  --of_level_[member->level - 1];
}

void WaitingCalls::Delay(const BatchMemberPtr& member) {
  members_.erase(member->place());
  member->delayed = true;
  member->timeout.reset();
  members_.emplace(member->place(), member);
}

int64_t WaitingCalls::up_to_level(int64_t level) const {
  return std::accumulate(of_level_.begin(), of_level_.begin() + level, int64_t{0});
}

bool BatchDraft::TakesLengths(const BatchMember& member, const BatchPadding& padding) const {
  const std::vector<int64_t>& own = member.key.lengths;
  std::vector<int64_t> longest = own;
  for (size_t i = 0; i < lengths.size(); ++i) longest[i] = std::max(longest[i], lengths[i].longest);
  for (size_t i = 0; i < own.size(); ++i) {
    const double needed =
        (lengths.empty() ? 0 : lengths[i].sum) + ElementsOfRow(i, own, padding) * static_cast<double>(member.key.rows);
    if (ElementsOfRow(i, longest, padding) * static_cast<double>(rows + member.key.rows) > padding.most * needed)
      return false;
  }
  return true;
}

void BatchDraft::Add(const BatchMemberPtr& member, int64_t its_rows, const BatchPadding& padding) {
  members.push_back(member);
  rows += its_rows;
  oldest = std::min(oldest, member->arrived);
  lengths.resize(member->key.lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i].longest = std::max(lengths[i].longest, member->key.lengths[i]);
    lengths[i].sum += ElementsOfRow(i, member->key.lengths, padding) * static_cast<double>(member->key.rows);
  }
}

std::vector<BatchDraft> WaitingCalls::DraftBatches() const {
  std::vector<BatchDraft> drafts;
  // Of one text there are several where lengths differ by too much.
  absl::flat_hash_map<std::string_view, std::vector<size_t>> known;
  for (const BatchMemberPtr& member : all()) {
    const bool alone = member->key.rows == 0;
    const int64_t rows = alone ? settings_.max_rows : member->key.rows;
    std::vector<size_t>* of_text = alone ? nullptr : &known[member->key.text];
    const auto takes = [&](size_t index) { return drafts[index].TakesLengths(*member, settings_.padding); };
    const auto found = of_text == nullptr ? std::vector<size_t>::iterator() : std::ranges::find_if(*of_text, takes);
    const bool is_new = of_text == nullptr || found == of_text->end();
    const size_t index = is_new ? drafts.size() : *found;
    if (is_new && settings_.keeps_order && !drafts.empty()) {
      drafts.front().full = true;
      break;
    }
    if (is_new) drafts.emplace_back();
    if (is_new && !alone) of_text->push_back(index);
    BatchDraft& draft = drafts[index];
    if (draft.full) continue;
    if (draft.rows + rows > settings_.max_rows) {
      draft.full = true;
    } else {
      draft.Add(member, rows, settings_.padding);
      draft.full = draft.rows == settings_.max_rows;
      if (std::ranges::binary_search(settings_.preferred, draft.rows)) draft.preferred = draft.members.size();
    }
    // Whatever comes behind it changes nothing.
    if (drafts.front().full) break;
  }
  return drafts;
}

}  // namespace hearth::server
