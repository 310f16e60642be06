// Checks plans against the baseline while they serve: of a sample of the calls that a plan answers, the baseline
// answers the same on copies of the arguments, behind the requests' backs, and the two answers are compared.
//
// A call that is sampled pays for the copies and nothing else. Runs wait in a bounded queue for one thread of the least
// priority; where it is full, or just being looked at, or the copies would be too large, the call is not checked. Only
// for methods whose runs touch no state that any run writes, draw no random numbers and do nothing to the world. An
// answer is looked at after it was given: while calls are sampled, whoever gets one does not write into it.
//
// On a GPU the baseline's run has a stream of its own, and begins when the one that the call had is through with what
// it was asked. Copies and answer were made there, against the rule of device/stream.h: they live until the run's own
// stream is idle again.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jit/device/stream.h"
#include "jit/interpreter/cancellation.h"
#include "jit/interpreter/interpreter.h"
#include "jit/support/large_stack.h"

namespace hearth {

// Thread-safe.
class ShadowRuns {
 public:
  struct Settings {
    double share = 0;  // of the calls that a plan answers
    size_t max_waiting = 16;
    size_t max_bytes = size_t{64} << 20;            // of the copies of one call
    std::shared_ptr<StreamPool> streams = nullptr;  // of the device; null: none are needed
  };

  explicit ShadowRuns(Settings settings);
  ~ShadowRuns();
  ShadowRuns(const ShadowRuns&) = delete;
  ShadowRuns& operator=(const ShadowRuns&) = delete;

  // Between the answers to a call.
  struct Difference {
    std::string text;
    // Runs other code with the call's arguments: what its answer differs in from the baseline's; empty if it does not.
    // Throws what the run throws.
    std::function<std::string(const std::shared_ptr<const Code>& code)> replay;
  };
  // One call of a method.
  struct Call {
    std::string method;  // for people
    std::shared_ptr<const Code> baseline;
    std::shared_ptr<const void> keep_alive;  // what the Code needs
    std::optional<c10::Stream> stream = {};  // where the plan's work goes
    // Told of a difference, on the thread that checks; may be empty. Only where there is no stream.
    std::function<void(const Difference&)> differs = {};
  };
  // Draws whether this call is to be checked, and there is room for it.
  bool Draw();
  // What to give the plan's run in place of `completion`: calls that, and sees to the check. `arguments` are the run's,
  // not begun; the first `own` of them are the model's and not copied.
  Completion Watch(Call call, const std::vector<c10::IValue>& arguments, size_t own, Completion completion);

  // Stops what runs, forgets what waits, and checks no more: before the threads and devices that runs need go.
  void Close();
  // Waits until nothing waits or runs.
  void WaitUntilIdle();

  struct Counters {
    uint64_t runs = 0;         // that were compared
    uint64_t differences = 0;  // of them
  };
  Counters counters() const { return {runs_.load(), differences_.load()}; }

 private:
  struct Job {
    Call call;
    std::vector<c10::IValue> arguments;
    size_t own;
    c10::IValue answer;
  };

  void Enqueue(std::shared_ptr<Job> job);
  void Work();
  void Check(Job& job);
  // Has somebody look into it.
  void Tell(const Job& job, const std::vector<c10::IValue>& arguments, const std::string& difference);
  // Between the baseline's answer, which is asked for on the stream if there is one, and the plan's. Leaves the job
  // holding all that it was given.
  std::string DifferenceOn(const c10::Stream* stream, const Job& job);

  const Settings settings_;
  std::atomic<size_t> waiting_{0};
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> differences_{0};
  const std::shared_ptr<CancellationToken> token_ = std::make_shared<CancellationToken>();
  std::mutex mutex_;  // held for a moment only
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool busy_ = false;
  bool closing_ = false;
  std::optional<LargeStackThread> thread_;
};

}  // namespace hearth
