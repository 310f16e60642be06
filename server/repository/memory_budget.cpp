#include "server/repository/memory_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// Of those that hold the budget, so many are named.
constexpr size_t kMostNamedHolders = 8;
// Marks a status; see IsNoRoom.
constexpr const char* kNoRoomType = "hearth/no_room";

}  // namespace

struct MemoryBudget::Ledger {
  explicit Ledger(uint64_t most) : limit(most) {}

  // Under the lock.
  uint64_t Held() const {
    uint64_t held = 0;
    for (const Share* share : shares) held += share->Bytes();
    return held;
  }

  const uint64_t limit;  // 0: none
  std::mutex mutex;
  std::set<const Share*> shares;
};

MemoryBudget::Share::Share(std::shared_ptr<Ledger> ledger, std::string name, int64_t version, uint64_t estimate)
    : ledger_(std::move(ledger)), name_(std::move(name)), version_(version), bytes_(estimate) {}

MemoryBudget::Share::~Share() {
  std::lock_guard lock(ledger_->mutex);
  ledger_->shares.erase(this);
}

uint64_t MemoryBudget::Share::bytes() const {
  std::lock_guard lock(ledger_->mutex);
  return Bytes();
}

uint64_t MemoryBudget::Share::Bytes() const {
  const auto model = model_.lock();
  if (model == nullptr) return bytes_;
  const PlanCounts plans = model->plan_counts();
  return bytes_ + plans.bytes + plans.copied_bytes;
}

MemoryBudget::MemoryBudget(uint64_t limit) : ledger_(std::make_shared<Ledger>(limit)) {}

uint64_t MemoryBudget::limit() const { return ledger_->limit; }

uint64_t MemoryBudget::held() const {
  std::lock_guard lock(ledger_->mutex);
  return ledger_->Held();
}

uint64_t MemoryBudget::Missing(uint64_t bytes) const {
  if (ledger_->limit == 0) return 0;
  const uint64_t wanted = held() + bytes;
  return wanted > ledger_->limit ? wanted - ledger_->limit : 0;
}

absl::StatusOr<MemoryBudget::SharePtr> MemoryBudget::Take(const std::string& name, int64_t version, uint64_t estimate) {
  auto share = std::make_shared<Share>(ledger_, name, version, estimate);
  absl::Status refusal;
  {
    std::lock_guard lock(ledger_->mutex);
    if (ledger_->limit > 0 && ledger_->Held() + estimate > ledger_->limit) refusal = Refusal(*share);
    if (refusal.ok()) ledger_->shares.insert(share.get());
  }
  if (!refusal.ok()) {
    refusal.SetPayload(kNoRoomType, absl::Cord());
    return refusal;
  }
  return share;
}

bool MemoryBudget::IsNoRoom(const absl::Status& status) { return status.GetPayload(kNoRoomType).has_value(); }

absl::Status MemoryBudget::Settle(Share& share, const std::shared_ptr<const Model>& model) {
  std::lock_guard lock(ledger_->mutex);
  share.model_ = model;
  share.bytes_ = model->weight_bytes() + model->code_bytes();
  if (ledger_->limit == 0 || ledger_->Held() <= ledger_->limit) return absl::OkStatus();
  return Refusal(share);
}

absl::Status MemoryBudget::Refusal(const Share& share) const {
  std::vector<std::pair<uint64_t, const Share*>> holders;
  uint64_t held = 0;
  for (const Share* holder : ledger_->shares) {
    if (holder == &share) continue;
    held += holders.emplace_back(holder->Bytes(), holder).first;
  }
  std::ranges::sort(holders, [](const auto& one, const auto& two) { return one.first > two.first; });
  std::string text = absl::StrCat("it needs ", share.Bytes(), " bytes of memory; the models' budget is ",
                                  ledger_->limit, " bytes, of which ", held, " are held");
  for (size_t i = 0; i < std::min(holders.size(), kMostNamedHolders); ++i) {
    absl::StrAppend(&text, i == 0 ? ": version " : ", version ", holders[i].second->version_, " of '",
                    holders[i].second->name_, "' ", holders[i].first);
  }
  if (holders.size() > kMostNamedHolders) {
    absl::StrAppend(&text, " and ", holders.size() - kMostNamedHolders, " more");
  }
  return absl::ResourceExhaustedError(text);
}

}  // namespace hearth::server
