// What all connections of one address may send together, so that a client which opens a new connection for each flood
// does not find a new budget in it. A table of fixed size: addresses that meet in it share a budget, and who does is
// another accident in each process. Of IPv6, the first 64 bits are an address: a client may have all behind them.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "server/security/token_bucket.h"

namespace hearth::server {

// Thread-safe.
class SharedBucket {
 public:
  SharedBucket(const TokenRate& rate, TokenBucket::TimePoint now) : bucket_(rate, now) {}

  // False if there is no token.
  bool Take(TokenBucket::TimePoint now);

 private:
  std::mutex mutex_;
  TokenBucket bucket_;
};

class AddressBudgets {
 public:
  static constexpr size_t kBudgets = 4096;

  AddressBudgets(const TokenRate& rate, TokenBucket::TimePoint now);

  // Lives as long as this. Thread-safe.
  SharedBucket& Of(const sockaddr_storage& address);

 private:
  std::vector<std::unique_ptr<SharedBucket>> budgets_;
};

}  // namespace hearth::server
