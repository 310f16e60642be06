// A model that a Runtime has loaded: binds the arguments of its calls, brings them to the model's device and the
// answers back, and tells what the model is made of.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/archive/importer.h"
#include "jit/device/device_health.h"
#include "jit/device_parts.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/traffic.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/profile_store/profile_keeper.h"
#include "jit/runtime.h"
#include "jit/support/memory_account.h"
#include "jit/support/striped_pointer.h"

namespace hearth {

// Thread-safe, as Model.
class LoadedModel final : public Model {
 public:
  // What bounds its calls; see RuntimeOptions.
  struct Limits {
    int64_t memory = 0;                              // of one; 0: none
    std::shared_ptr<MemoryAccount> memory_of_model;  // null: nothing is limited for them together
    std::chrono::nanoseconds run_time{0};            // 0: none
  };

  // Runs on `pool`, and calls in the background on `background`. `keeper`, which may be null, has adopted the executor.
  // `traffic` is told of calls.
  LoadedModel(const std::shared_ptr<ModelExecutor>& executor, const ThreadPool& pool, ThreadPool& background,
              ImportedModule imported, std::shared_ptr<const DeviceParts> on, Limits limits, uint64_t code_bytes,
              Traffic& traffic, std::shared_ptr<ProfileKeeper> keeper)
      : executor_(executor),
        pool_(pool),
        background_(background),
        imported_(std::move(imported)),
        on_(std::move(on)),
        limits_(std::move(limits)),
        code_bytes_(code_bytes),
        traffic_(traffic),
        keeper_(std::move(keeper)) {}

  // On the runtime's thread for that: it writes to the disk, and the executor ends after it.
  ~LoadedModel() override;

  c10::Device device() const { return on_->device; }
  // Why calls cannot be spread over this model and other loads of its archive, as its callers would notice; empty: they
  // can.
  std::string WhyNotSpread() const;

  // Has `successor` make plans for what this model is called with.
  void TransferProfilesTo(const ModelExecutor& successor) const;

  std::vector<MethodInfo> methods() const override;
  const c10::FunctionSchema* FindMethod(std::string_view name) const override;
  absl::StatusOr<std::string> SideEffect(std::string_view method) const override;
  bool LeavesArguments(std::string_view method) const override;
  absl::StatusOr<BatchProof> ProveBatch(std::string_view method,
                                        std::span<const BatchArgument> arguments) const override;
  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view method) const override;
  at::Tensor NewLockedArgument(c10::IntArrayRef sizes, c10::ScalarType dtype) const override;
  bool RunsOnCaller(std::string_view name) const override;
  std::shared_ptr<CallHandle> CallAsync(std::string_view name, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override;
  absl::StatusOr<c10::IValue> Call(std::string_view name, Arguments args, KeywordArguments kwargs,
                                   CallOptions options) override;
  absl::StatusOr<c10::IValue> CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) override;
  std::vector<int> operator_threads() const override;
  std::vector<AttributeInfo> attributes() const override;
  std::vector<PlanInfo> plans(bool with_graphs) const override;
  std::vector<FrequentCall> frequent_calls(size_t most) const override;
  std::vector<CompilationInfo> compilations() const override;
  PlanCounts plan_counts() const override;
  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override;
  std::vector<OperatorUse> operators() const override;
  absl::StatusOr<std::string> GraphText(std::string_view name, GraphStage stage) const override;
  std::vector<std::pair<std::string, std::string>> sources() const override;
  uint64_t weight_bytes() const override;
  uint64_t code_bytes() const override { return code_bytes_; }
  MemoryUse memory_use() const override;
  std::shared_ptr<MemoryAccount> NewAccount(int64_t requests) const override;

 private:
  // Starts a call of a method or hook; its callback gets what CallAsync promises.
  std::shared_ptr<CallHandle> Start(const ModelExecutor::Method& method, Arguments args, KeywordArguments kwargs,
                                    CallOptions options, Callback callback);

  // The same, waited for.
  absl::StatusOr<c10::IValue> StartAndWait(const ModelExecutor::Method& method, Arguments args, KeywordArguments kwargs,
                                           CallOptions options);

  // Has the call end when its run has taken as long as it may: wraps what is called when it starts and when it ends.
  void LimitRunTime(const std::shared_ptr<CancellationToken>& token, CallOptions& options, Callback& callback) const;

  // The answer of a run, brought back from its device; or what failed, there too.
  static absl::StatusOr<c10::IValue> Finish(c10::IValue value, std::exception_ptr error, const c10::Stream* stream,
                                            bool stays, DeviceHealth* health);

  // Of a call that failed: also whether its device did.
  static absl::Status StatusOn(DeviceHealth* health, const std::exception_ptr& error);

  const StripedPointer<ModelExecutor> executor_;
  const ThreadPool& pool_;
  ThreadPool& background_;
  ImportedModule imported_;
  const std::shared_ptr<const DeviceParts> on_;
  const Limits limits_;
  const uint64_t code_bytes_;
  Traffic& traffic_;
  const std::shared_ptr<ProfileKeeper> keeper_;
};

}  // namespace hearth
