// The calls that wait in a Batcher (batcher.h) for a run, in their order, and the batches that may be made of them.
// Used under the Batcher's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <vector>

#include "server/repository/queue_settings.h"
#include "server/scheduling/batch_member.h"

namespace hearth::server {

// What may become a batch: members that fit each other, in their order.
struct BatchDraft {
  std::vector<BatchMemberPtr> members;
  int64_t rows = 0;
  size_t preferred = 0;  // so many members have a preferred number of rows; 0: there is none
  bool full = false;     // no other may join
  BatchMember::TimePoint oldest = BatchMember::TimePoint::max();
  // By entry of BatchPadding::inputs: the longest member, and what its tensor has in all rows together, along all
  // dimensions that are padded (to multiples).
  struct Lengths {
    int64_t longest = 0;
    double sum = 0;
  };
  std::vector<Lengths> lengths = {};

  // Whether with that member no more of the batch is padding than may be.
  bool TakesLengths(const BatchMember& member, const BatchPadding& padding) const;
  void Add(const BatchMemberPtr& member, int64_t its_rows, const BatchPadding& padding);
};

class WaitingCalls {
 public:
  // The settings outlive it.
  explicit WaitingCalls(const QueueSettings& settings) : settings_(settings), of_level_(settings.levels.size()) {}

  // Behind those of its level that are not delayed.
  void Add(const BatchMemberPtr& member);
  void Remove(const BatchMemberPtr& member);
  // Puts one that waits behind all others of its level.
  void Delay(const BatchMemberPtr& member);

  bool empty() const { return members_.empty(); }
  size_t size() const { return members_.size(); }
  int64_t of_level(int64_t level) const { return of_level_[level - 1]; }
  // Of that level and of those that are run before it.
  int64_t up_to_level(int64_t level) const;
  // In their order.
  auto all() const { return std::views::values(members_); }

  // In the order of their first members. Those behind a draft that is full are left out, if it is the first one.
  std::vector<BatchDraft> DraftBatches() const;

 private:
  const QueueSettings& settings_;
  std::map<BatchMember::Place, BatchMemberPtr> members_;
  std::vector<int64_t> of_level_;
  uint64_t next_number_ = 0;
};

}  // namespace hearth::server
