#include "server/scheduling/waiting_calls.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace hearth::server {

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

std::vector<BatchDraft> WaitingCalls::DraftBatches() const {
  std::vector<BatchDraft> drafts;
  absl::flat_hash_map<std::string_view, size_t> known;
  for (const BatchMemberPtr& member : all()) {
    const bool alone = member->key.rows == 0;
    const int64_t rows = alone ? settings_.max_rows : member->key.rows;
    const auto found = alone ? known.end() : known.find(member->key.text);
    const bool is_new = found == known.end();
    const size_t index = is_new ? drafts.size() : found->second;
    if (is_new && settings_.keeps_order && !drafts.empty()) {
      drafts.front().full = true;
      break;
    }
    if (is_new) drafts.emplace_back();
    if (is_new && !alone) known.emplace(member->key.text, index);
    BatchDraft& draft = drafts[index];
    if (draft.full) continue;
    if (draft.rows + rows > settings_.max_rows) {
      draft.full = true;
    } else {
      draft.members.push_back(member);
      draft.rows += rows;
      draft.oldest = std::min(draft.oldest, member->arrived);
      draft.full = draft.rows == settings_.max_rows;
      if (std::ranges::binary_search(settings_.preferred, draft.rows)) draft.preferred = draft.members.size();
    }
    // Whatever comes behind it changes nothing.
    if (drafts.front().full) break;
  }
  return drafts;
}

}  // namespace hearth::server
