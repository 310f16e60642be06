// One request to an ensemble. The versions of its steps' models are chosen when it begins, and held: a model that is
// swapped meanwhile is the next request's matter. Each step is called as soon as its inputs are there, through the
// dispatcher as any request to its model is, so it waits in that model's queue, has part in its batches and counts in
// its statistics. It has the priority of the ensemble's request there. Steps that are ready at once run side by side.
//
// Tensors go from step to step as they are, without a copy. One that others still hold is copied for a step whose model
// writes to what it is given, or keeps it; and so is an output that its model may still write to.
//
// Memory. A step's run counts for an account of its model's. What lies between the steps counts for the ensemble's
// account of the request until the last step that takes it has it.
//
// The first error ends the request, with the step's name in the message; the other steps' runs are cancelled. So does
// Cancel. Answers come before what was cancelled has ended.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "jit/runtime.h"
#include "jit/support/memory_account.h"
#include "server/api/request_statistics.h"
#include "server/api/signature.h"
#include "server/ensembles/ensemble.h"
#include "server/ensembles/step_limiter.h"
#include "server/scheduling/dispatched_call.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

class EnsembleRun final : public CallHandle, public std::enable_shared_from_this<EnsembleRun> {
 public:
  EnsembleRun(std::shared_ptr<const Ensemble> ensemble, DispatchedCall call, DispatchCallback done);

  // Call once.
  void Start();
  void Cancel() override;

 private:
  using Clock = std::chrono::steady_clock;

  // An ensemble's tensor in this request.
  struct Value {
    std::optional<WireTensor> tensor;        // nothing: not made yet, or left out
    std::unique_ptr<MemoryAccount> counted;  // its bytes; null: not counted here
    size_t takers = 0;                       // that have not taken it yet
  };
  struct StepRun;
  using StepPtr = std::shared_ptr<StepRun>;

  absl::Status TakeArguments();
  absl::Status TakeArgument(size_t input, const c10::IValue& value);
  // Chooses the versions, and goes on when those that are idle have been loaded again.
  void ChooseModels();
  absl::Status ChooseModel(size_t step, std::string& idle);
  void AwaitModel(const std::string& model);

  // Steps by their numbers, whose inputs are there.
  void StartSteps(const std::vector<size_t>& ready);
  void Enter(size_t step);
  void RunStep(const StepPtr& run);
  absl::StatusOr<DispatchedCall> PrepareStep(StepRun& run);
  // kCancelled where the request has ended.
  absl::StatusOr<std::vector<WireTensor>> TakeInputs(const StepRun& run);
  void OnAnswer(const StepPtr& run, absl::StatusOr<c10::IValue> answer, const Execution& execution);
  absl::StatusOr<std::vector<WireTensor>> ReadAnswer(StepRun& run, c10::IValue answer);
  // Keeps the outputs, and says which steps are ready now.
  std::vector<size_t> KeepOutputs(const StepRun& run, std::vector<WireTensor> outputs);
  std::unique_ptr<MemoryAccount> Count(const WireTensor& tensor) const;
  void Leave(StepRun& run);
  void Report(const StepRun& run, const absl::Status& status) const;

  // The ends: the first one counts.
  void Fail(size_t step, const absl::Status& status);
  void Finish(absl::StatusOr<c10::IValue> answer);
  c10::IValue MakeAnswer();
  bool ended() const;

  const std::shared_ptr<const Ensemble> ensemble_;
  DispatchedCall call_;
  std::thread::id caller_;  // that called Start, to which call_.caller applies
  int loads_awaited_ = 0;
  std::vector<ServablePtr> servables_;  // of the steps

  mutable std::mutex mutex_;
  DispatchCallback done_;  // null: it has ended
  std::vector<Value> values_;
  std::vector<size_t> missing_;  // of each step, inputs that are not there
  std::vector<StepPtr> running_;
  std::map<size_t, StepLimiter::Ticket> waiting_;  // of steps, at their limiters
  std::shared_ptr<const void> awaits_model_;       // who waits for an idle model; null when it has ended
  size_t steps_left_ = 0;
};

}  // namespace hearth::server
