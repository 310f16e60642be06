#include "server/repository/memory_budget.h"

#include <algorithm>
#include <optional>
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
  explicit Ledger(Limits most) : limits(most) {}

  // Under the lock.
  MemoryUse Held() const {
    MemoryUse held;
    for (const Share* share : shares) held += share->Use();
    return held;
  }
  // Of what is wanted.
  MemoryUse BeyondLimits(const MemoryUse& wanted) const {
    MemoryUse beyond;
    if (limits.host > 0 && wanted.host > limits.host) beyond.host = wanted.host - limits.host;
    for (const auto& [gpu, bytes] : wanted.gpus) {
      if (limits.each_gpu > 0 && bytes > limits.each_gpu) beyond.gpus[gpu] = bytes - limits.each_gpu;
    }
    return beyond;
  }

  const Limits limits;
  std::mutex mutex;
  std::set<const Share*> shares;
};

MemoryBudget::Share::Share(std::shared_ptr<Ledger> ledger, std::string name, int64_t version, MemoryUse estimate)
    : ledger_(std::move(ledger)), name_(std::move(name)), version_(version), estimate_(std::move(estimate)) {}

MemoryBudget::Share::~Share() {
  std::lock_guard lock(ledger_->mutex);
  ledger_->shares.erase(this);
}

MemoryUse MemoryBudget::Share::use() const {
  std::lock_guard lock(ledger_->mutex);
  return Use();
}

MemoryUse MemoryBudget::Share::Use() const {
  const auto model = model_.lock();
  return model == nullptr ? estimate_ : model->memory_use();
}

MemoryBudget::MemoryBudget(Limits limits) : ledger_(std::make_shared<Ledger>(limits)) {}

MemoryBudget::Limits MemoryBudget::limits() const { return ledger_->limits; }

MemoryUse MemoryBudget::held() const {
  std::lock_guard lock(ledger_->mutex);
  return ledger_->Held();
}

bool MemoryBudget::MayFit(const MemoryUse& use) const { return !ledger_->BeyondLimits(use).any(); }

MemoryUse MemoryBudget::Missing(const MemoryUse& more) const {
  std::lock_guard lock(ledger_->mutex);
  MemoryUse wanted = ledger_->Held();
  wanted += more;
  return ledger_->BeyondLimits(wanted);
}

absl::StatusOr<MemoryBudget::SharePtr> MemoryBudget::Take(const std::string& name, int64_t version,
                                                          const MemoryUse& estimate) {
  auto share = std::make_shared<Share>(ledger_, name, version, estimate);
  absl::Status refusal;
  {
    std::lock_guard lock(ledger_->mutex);
    MemoryUse wanted = ledger_->Held();
    wanted += estimate;
    if (const MemoryUse missing = ledger_->BeyondLimits(wanted); missing.any()) refusal = Refusal(*share, missing);
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
  share.estimate_ = model->memory_use();
  const MemoryUse missing = ledger_->BeyondLimits(ledger_->Held());
  return missing.any() ? Refusal(share, missing) : absl::OkStatus();
}

absl::Status MemoryBudget::Refusal(const Share& share, const MemoryUse& missing) const {
  const std::optional<int> gpu = missing.host > 0 ? std::nullopt : std::optional(missing.gpus.begin()->first);
  const auto bytes_of = [&](const Share& holder) {
    const MemoryUse use = holder.Use();
    return gpu ? use.OfGpu(*gpu) : use.host;
  };
  std::vector<std::pair<uint64_t, const Share*>> holders;
  uint64_t held = 0;
  for (const Share* holder : ledger_->shares) {
    if (holder == &share) continue;
    const uint64_t bytes = bytes_of(*holder);
    if (bytes == 0) continue;
    holders.emplace_back(bytes, holder);
    held += bytes;
  }
  std::ranges::sort(holders, [](const auto& one, const auto& two) { return one.first > two.first; });
  std::string text =
      gpu ? absl::StrCat("it needs ", bytes_of(share), " bytes of GPU ", *gpu, "'s memory; the models' budget is ",
                         ledger_->limits.each_gpu, " bytes of each GPU")
          : absl::StrCat("it needs ", bytes_of(share), " bytes of memory; the models' budget is ", ledger_->limits.host,
                         " bytes");
  absl::StrAppend(&text, ", of which ", held, " are held");
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
