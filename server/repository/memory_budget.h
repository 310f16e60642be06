// How much memory the versions of models hold, and whether there is room for another one.
//
// A version has a share from when it begins to be loaded until the last request that uses it has ended: first an
// estimate, then what it was measured to hold with its weights and code, and what its plans hold beside that, which
// grows. Shares are counted where there is no limit, too. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"

namespace hearth::server {

class MemoryBudget {
  struct Ledger;

 public:
  class Share {
   public:
    Share(std::shared_ptr<Ledger> ledger, std::string name, int64_t version, uint64_t estimate);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    uint64_t bytes() const;

   private:
    friend class MemoryBudget;
    // Under the ledger's lock.
    uint64_t Bytes() const;

    const std::shared_ptr<Ledger> ledger_;
    const std::string name_;
    const int64_t version_;
    uint64_t bytes_;  // but for plans
    std::weak_ptr<const Model> model_;
  };
  using SharePtr = std::shared_ptr<Share>;

  // Of 0 bytes: no limit.
  explicit MemoryBudget(uint64_t limit);

  uint64_t limit() const;
  uint64_t held() const;
  // How much must go before so much more fits; 0: it fits.
  uint64_t Missing(uint64_t bytes) const;
  // For a version that is about to be loaded. kResourceExhausted where there is no room: says what it needs, what the
  // budget is and who holds it.
  absl::StatusOr<SharePtr> Take(const std::string& name, int64_t version, uint64_t estimate);
  // Whether it is Take's refusal, which came before anything was loaded.
  static bool IsNoRoom(const absl::Status& status);
  // The version is loaded, and its share is what it holds. kResourceExhausted, as Take, where that is too much.
  absl::Status Settle(Share& share, const std::shared_ptr<const Model>& model);

 private:
  // Under the lock.
  absl::Status Refusal(const Share& share) const;

  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace hearth::server
