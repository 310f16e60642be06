// Runs of a version that no client waits for, before it serves.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "jit/support/memory_account.h"
#include "server/repository/servable.h"

namespace hearth::server {

struct BackgroundBounds {
  std::chrono::steady_clock::time_point deadline;
  // Bytes that making the tensors of one call may come to hold; 0: no limit.
  int64_t memory = 0;
  std::stop_token stop;
  // Requests are answered meanwhile: as CallOptions has it.
  bool in_background = false;
};

// What `bind` gives, whose memory is bounded. It may throw std::bad_alloc, as bounded memory does.
template <typename Bind>
auto BindWithin(int64_t memory_limit, Bind bind) {
  MemoryAccount account(memory_limit);
  const MemoryAccount::Scope memory(memory_limit > 0 ? &account : nullptr);
  return bind();
}

// Waits on the calling thread; the run is a warm-up of the runtime's and counts in no statistics. `operator_threads` as
// CallOptions has it.
absl::StatusOr<c10::IValue> RunInBackground(const Servable& servable, const std::string& method, BoundArguments bound,
                                            const BackgroundBounds& bounds, int operator_threads);

}  // namespace hearth::server
