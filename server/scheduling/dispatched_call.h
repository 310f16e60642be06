// A call on its way from a request to the runtime, and what is told of its run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "server/scheduling/batch_values.h"

namespace hearth::server {

// What the thread that dispatches a call does else.
enum class CallerThread : uint8_t {
  kOneOfMany,  // others like it go on meanwhile
  kOnlyOne,    // others wait for it
};

// What a request says of its place in the queue of its model; if nothing: the default priority, for any time.
struct QueueRequest {
  uint64_t priority = 0;                             // 0: the model's default
  std::optional<std::chrono::microseconds> timeout;  // in the queue
};

struct DispatchedCall {
  std::string method = "forward";
  CallArguments arguments;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  size_t bytes = 0;  // of the request
  int64_t rows = 1;  // batch elements, for statistics
  CallerThread caller = CallerThread::kOneOfMany;
  // Of an answer that goes where only this call's would; such a call is in no batch, and has no answer from the cache.
  bool answer_stays_on_device = false;  // see CallOptions
  QueueRequest queue;
  // See CallOptions::memory.
  std::shared_ptr<MemoryAccount> memory;
  // Called when a thread takes the call up; see CallOptions::on_start.
  std::function<void()> on_start;
  bool has_begun = false;      // that was told already, and statistics that it waits no more
  bool is_split_part = false;  // of a call (split_call.h), which counts as waiting itself
  // A further call of a request that is under way: it is taken also while the server is full or draining.
  bool of_admitted_request = false;
};

// The run that answered a call.
struct Execution {
  int64_t rows = 1;    // of all calls that it answered
  bool counts = true;  // the run is counted with this call, not with another one that it answered
  unsigned tier = 0;   // that it began in: 0 is the baseline
  // Of further runs that answered parts of the call and are counted with it.
  std::vector<int64_t> further_rows = {};
};

// Whether the call's answer may come of a run with others, or of one that was before: batches and cached answers are of
// `forward`, which is what the model's configuration says of both.
inline bool MayShareAnswer(const DispatchedCall& call) {
  return call.method == "forward" && !call.answer_stays_on_device;
}

using DispatchCallback = std::function<void(absl::StatusOr<c10::IValue>, const Execution&)>;

}  // namespace hearth::server
