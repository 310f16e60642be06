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

struct AddressRates {
  // Frames of HTTP/2 without content, as http2_frame_guard.h counts them.
  TokenRate control_frames;
  // RST_STREAM.
  TokenRate resets;
};

// Thread-safe.
class AddressBudget {
 public:
  AddressBudget(const AddressRates& rates, TokenBucket::TimePoint now)
      : control_frames_(rates.control_frames, now), resets_(rates.resets, now) {}

  // False if there is no token.
  bool TakeControlFrame(TokenBucket::TimePoint now);
  bool TakeReset(TokenBucket::TimePoint now);

 private:
  std::mutex mutex_;
  TokenBucket control_frames_;
  TokenBucket resets_;
};

class AddressBudgets {
 public:
  static constexpr size_t kBudgets = 4096;

  AddressBudgets(const AddressRates& rates, TokenBucket::TimePoint now);

  // Lives as long as this. Thread-safe.
  AddressBudget& Of(const sockaddr_storage& address);

 private:
  std::vector<std::unique_ptr<AddressBudget>> budgets_;
};

}  // namespace hearth::server
