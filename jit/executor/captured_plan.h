// The runs of one plan on a GPU as recorded pieces of work (device/gpu.h): a run copies its arguments to
// where the recorded kernels read theirs, has them launched, and copies the answer from where they write it.
//
// What is recorded is what one run asked of the GPU, whatever the host found out meanwhile. It stands for every run of
// the plan because the plan is for one exact shape, the arguments that are not tensors are compared with the recorded
// ones, and a run that looks at what tensors hold would wait for the GPU, which cannot be recorded. Whoever uses this
// sees to the rest: runs that touch no state, and none where the plan has a reason not to be recorded (side_effect.h).
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/device/gpu.h"
#include "jit/device/stream.h"

namespace hearth {

// What captured plans of a process share.
struct CaptureSettings {
  std::shared_ptr<Gpu> gpu;
  std::shared_ptr<StreamPool> streams;  // where plans run that are not recorded
  size_t most_copies = 4;               // of a plan's recording, each for one run at a time
  size_t most_bytes = size_t{1} << 28;  // of the GPU's memory for all copies of a plan but the first
};

// Thread-safe.
class CapturedPlan {
 public:
  explicit CapturedPlan(CaptureSettings settings);
  ~CapturedPlan();
  CapturedPlan(const CapturedPlan&) = delete;
  CapturedPlan& operator=(const CapturedPlan&) = delete;

  // Whether Replay may give an answer.
  bool ready() const { return copies_.load(std::memory_order_acquire) > 0; }
  // True once, to whoever then calls Record or PutBack.
  bool TakeTurn();
  void PutBack();
  // Its runs are never recorded, for a reason that people are told. Before anybody has taken the turn, or by who has.
  void Refuse(const std::string& reason);

  // A run of the plan's code, on a stream.
  using PlanRun = std::function<c10::IValue(std::vector<c10::IValue> arguments, const c10::Stream& stream)>;
  // Runs it once, records it, and holds the recording against that run. `arguments` are copies of those of some call,
  // of which the first `own` are the model's. They were made on the stream `made_on`, and are this one's to write.
  // What cannot be recorded, or raises, never is. Throws CancelledError.
  void Record(const PlanRun& run, std::vector<c10::IValue> arguments, size_t own, const c10::Stream& made_on);

  // The answer of a run on `stream`, where it will be once the stream has come so far. Null: the plan's code has to
  // run.
  std::optional<c10::IValue> Replay(std::span<const c10::IValue> arguments, const c10::Stream& stream);

  // For people.
  struct Description {
    size_t copies = 0;
    size_t operations = 0;  // of the GPU, in one run
    size_t bytes = 0;       // of its memory
    std::string refused;    // why there is none, if that is so
  };
  Description Describe() const;

 private:
  class Copy;

  std::unique_ptr<Copy> RecordCopy(const PlanRun& run, std::vector<c10::IValue> arguments, size_t own) const;
  void RecordFirst(const PlanRun& run, std::vector<c10::IValue> arguments, size_t own);
  void Publish(std::unique_ptr<Copy> copy);

  const CaptureSettings settings_;
  std::vector<std::unique_ptr<Copy>> all_;  // the first copies_ of them may be read
  std::atomic<size_t> copies_{0};
  std::atomic<size_t> next_{0};
  std::atomic<bool> taken_{false};
  mutable std::mutex mutex_;  // of what follows
  std::string refused_;
};

}  // namespace hearth
