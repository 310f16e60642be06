// Makes a version ready for its first request: runs the samples that its configuration has (model_warmup), then waits
// for what is compiled for them, and for what earlier processes and the version in service were called with, and runs
// the samples again, and calls like those that the version in service gets.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>

#include "absl/status/status.h"
#include "jit/runtime.h"
#include "server/repository/servable.h"

namespace hearth::server {

// Of the version in service.
inline constexpr size_t kMostFrequentCalls = 16;

struct WarmUpLimits {
  // Of the samples, then the compiler, then calls of live traffic, together; 0: no limit.
  std::chrono::duration<double> time{0};
  // Bytes that making the tensors of one sample or call may come to hold; 0: no limit.
  int64_t memory = 0;
  // Ends it, with kCancelled.
  std::stop_token stop;
  // Requests are answered meanwhile: runs give way to theirs.
  bool in_background = false;
};

// `files` are those that its samples name. `frequent` is of the version in service. Of its calls those to methods that
// do nothing but answer are run: their arguments are made up. What they give or raise does not matter, and none may
// take more than half of the time that is left, nor more than ten seconds.
//
// Waits on the calling thread. A sample that fails, or is not done in time, is an error that names it; plans that are
// not compiled by then are so while the version serves, and that is logged.
absl::Status WarmUp(const Servable& servable, const DataFiles& files, std::span<const FrequentCall> frequent,
                    const WarmUpLimits& limits);

}  // namespace hearth::server
