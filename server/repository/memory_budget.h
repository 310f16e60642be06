// How much memory the versions of models hold, the host's and each GPU's, and whether there is room for another one.
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
#include "jit/support/memory_use.h"

namespace hearth::server {

class MemoryBudget {
  struct Ledger;

 public:
  class Share {
   public:
    Share(std::shared_ptr<Ledger> ledger, std::string name, int64_t version, MemoryUse estimate);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    MemoryUse use() const;

   private:
    friend class MemoryBudget;
    // Under the ledger's lock.
    MemoryUse Use() const;

    const std::shared_ptr<Ledger> ledger_;
    const std::string name_;
    const int64_t version_;
    MemoryUse estimate_;  // what it held last, once it is loaded
    std::weak_ptr<const Model> model_;
  };
  using SharePtr = std::shared_ptr<Share>;

  // In bytes; 0: none.
  struct Limits {
    uint64_t host = 0;
    uint64_t each_gpu = 0;
  };
  explicit MemoryBudget(Limits limits);

  Limits limits() const;
  MemoryUse held() const;
  // Whether so much fits where nobody else holds any.
  bool MayFit(const MemoryUse& use) const;
  // How much must go before so much more fits; nothing: it fits.
  MemoryUse Missing(const MemoryUse& more) const;
  // For a version that is about to be loaded. kResourceExhausted where there is no room: says what it needs, what the
  // budget is and who holds it.
  absl::StatusOr<SharePtr> Take(const std::string& name, int64_t version, const MemoryUse& estimate);
  // Whether it is Take's refusal, which came before anything was loaded.
  static bool IsNoRoom(const absl::Status& status);
  // The version is loaded, and its share is what it holds. kResourceExhausted, as Take, where that is too much.
  absl::Status Settle(Share& share, const std::shared_ptr<const Model>& model);

 private:
  // Under the lock. Of `missing` there is some.
  absl::Status Refusal(const Share& share, const MemoryUse& missing) const;

  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace hearth::server
