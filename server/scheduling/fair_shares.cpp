#include "server/scheduling/fair_shares.h"

#include <algorithm>
#include <utility>

namespace hearth::server {
namespace {

// Of a run's time in the mean.
constexpr double kWeightOfLatest = 1.0 / 8;

}  // namespace

ModelShare& FairShares::ShareOf(const std::string& name, double weight, bool takes_slots) {
  ModelShare& share = shares_[name];
  share.weight = weight;
  share.takes_slots = takes_slots;
  return share;
}

RunSlot FairShares::Start(ModelShare& share, TimePoint now) {
  if (!share.takes_slots) return {&share, now, 0, false};
  --free_slots_;
  virtual_time_ = share.tag = std::max(share.tag, virtual_time_);
  share.tag += share.mean_time / share.weight;
  return {&share, now, share.mean_time};
}

std::optional<RunSlot> FairShares::Take(ModelShare& share, TimePoint now) {
  if (share.takes_slots && (free_slots_ <= 0 || anyone_waits())) return std::nullopt;
  return Start(share, now);
}

void FairShares::Wait(ModelShare& share, std::weak_ptr<SlotWaiter> waiter) {
  // Who did not wait has no claim to the time in which the others used the slots.
  share.tag = std::max(share.tag, virtual_time_);
  waiting_.push_back({&share, std::move(waiter)});
}

void FairShares::Free(const RunSlot& slot, TimePoint now) {
  if (!slot.is_shared) return;
  ++free_slots_;
  ModelShare& share = *slot.share;
  const double time = std::chrono::duration<double>(now - slot.since).count();
  share.tag += (time - slot.charged) / share.weight;
  share.mean_time = share.mean_time == 0 ? time : share.mean_time + kWeightOfLatest * (time - share.mean_time);
}

void FairShares::GiveBack(const RunSlot& slot) {
  if (!slot.is_shared) return;
  ++free_slots_;
  slot.share->tag -= slot.charged / slot.share->weight;
}

std::optional<FairShares::Grant> FairShares::Next(TimePoint now) {
  while (free_slots_ > 0 && anyone_waits()) {
    const auto next = std::ranges::min_element(waiting_, {}, [](const Waiting& waiting) { return waiting.share->tag; });
    const Waiting first = std::move(*next);
    waiting_.erase(next);
    if (auto waiter = first.waiter.lock()) return Grant{std::move(waiter), Start(*first.share, now)};
  }
  return std::nullopt;
}

}  // namespace hearth::server
