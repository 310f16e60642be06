// An ensemble in service: what of it lasts longer than a request. It is a Model like any other, whose method "forward"
// has the inputs and outputs that its configuration declares (ensemble_schema.h); each call is an EnsembleRun.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "jit/support/memory_account.h"
#include "server/ensembles/step_limiter.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/repository.h"
#include "server/scheduling/alarm_clock.h"
#include "server/scheduling/callable_ensemble.h"
#include "server/scheduling/dispatcher.h"

namespace hearth::server {

// What ensembles need of the server. All outlives them, and their runs.
struct EnsembleEnvironment {
  Repository& repository;
  Dispatcher& dispatcher;
  AlarmClock& alarms;
  StepLimiter::Post post;                  // runs work on a thread of the runtime's pool
  MemoryAccount* memory_of_all = nullptr;  // null: requests have no limit together
  // Of what lies between the steps of one request, and of all requests to one ensemble, in bytes, where its
  // configuration does not say; 0: no limit.
  int64_t memory_limit = 0;
  int64_t memory_limit_of_model = 0;
};

// `environment` outlives what the factory makes.
EnsembleFactory EnsemblesOf(const EnsembleEnvironment& environment);

class Ensemble final : public CallableEnsemble, public std::enable_shared_from_this<Ensemble> {
 public:
  // kInvalidArgument for a configuration that cannot be served.
  static absl::StatusOr<std::shared_ptr<EnsembleModel>> Create(const inference::ModelConfig& config,
                                                               const EnsembleEnvironment& environment);

  const EnsembleEnvironment& environment() const { return environment_; }
  const inference::ModelConfig& config() const { return config_; }
  const EnsembleGraph& graph() const { return graph_; }
  const c10::FunctionSchema& schema() const { return schema_; }
  // Of a step; null where as many requests may be at it as come.
  StepLimiter* limiter(size_t step) const { return limiters_.empty() ? nullptr : limiters_[step].get(); }

  // What a version of a step's model does with tensors beside reading them.
  struct Habits {
    bool writes_inputs = false;  // it may write to them, or keep them and write to them later
    bool keeps_outputs = false;  // they may be a part of its state, which another run may write to
  };
  Habits HabitsOf(size_t step, const ServablePtr& servable) const;

  absl::Status CheckSteps() const override;
  std::shared_ptr<CallHandle> Start(DispatchedCall call, DispatchCallback done) override;

  std::vector<MethodInfo> methods() const override { return {{"forward", &schema_}}; }
  const c10::FunctionSchema* FindMethod(std::string_view name) const override;
  absl::StatusOr<std::string> SideEffect(std::string_view method) const override;
  // Its steps' models have their batches; its own requests have none.
  absl::StatusOr<BatchProof> ProveBatch(std::string_view /*method*/,
                                        std::span<const BatchArgument> /*arguments*/) const override {
    return BatchProof{};
  }
  absl::StatusOr<std::string> WhyNotRepeatable(std::string_view method) const override;
  bool LeavesArguments(std::string_view /*method*/) const override { return true; }
  bool RunsOnCaller(std::string_view /*method*/) const override { return false; }
  std::shared_ptr<CallHandle> CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override;
  absl::StatusOr<c10::IValue> Call(std::string_view method, Arguments args, KeywordArguments kwargs,
                                   CallOptions options) override;
  absl::StatusOr<c10::IValue> CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) override;
  std::vector<AttributeInfo> attributes() const override { return {}; }
  std::vector<int> operator_threads() const override { return {0}; }
  std::vector<PlanInfo> plans(bool /*with_graphs*/) const override { return {}; }
  std::vector<FrequentCall> frequent_calls(size_t /*most*/) const override { return {}; }
  std::vector<CompilationInfo> compilations() const override { return {}; }
  PlanCounts plan_counts() const override { return {}; }
  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override;
  std::vector<OperatorUse> operators() const override { return {}; }
  absl::StatusOr<std::string> GraphText(std::string_view method, GraphStage stage) const override;
  std::vector<std::pair<std::string, std::string>> sources() const override { return {}; }
  uint64_t weight_bytes() const override { return 0; }
  uint64_t code_bytes() const override { return 0; }
  MemoryUse memory_use() const override { return {}; }
  std::shared_ptr<MemoryAccount> NewAccount(int64_t requests) const override;

 private:
  struct KnownHabits {
    std::weak_ptr<const Servable> of;
    Habits habits;
  };

  Ensemble(const inference::ModelConfig& config, EnsembleGraph graph, const EnsembleEnvironment& environment);

  const EnsembleEnvironment& environment_;
  const inference::ModelConfig config_;
  const EnsembleGraph graph_;
  const c10::FunctionSchema schema_;
  std::vector<std::shared_ptr<StepLimiter>> limiters_;
  int64_t memory_limit_ = 0;
  std::shared_ptr<MemoryAccount> memory_of_model_;  // null: no limit
  mutable std::mutex mutex_;
  mutable std::vector<KnownHabits> habits_;  // of each step, of the version that was asked for last
};

}  // namespace hearth::server
