#include "server/ensembles/ensemble.h"

#include <future>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/ensembles/ensemble_run.h"
#include "server/ensembles/ensemble_schema.h"
#include "server/ensembles/step_check.h"
#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

absl::Status NoSuchMethod(std::string_view name) {
  return absl::NotFoundError("an ensemble has no method '" + std::string(name) + "', only 'forward'");
}

// `all` outlives what is made.
std::shared_ptr<MemoryAccount> AccountOfModel(int64_t limit, MemoryAccount* all) {
  std::shared_ptr<MemoryAccount> within;
  if (all != nullptr) within = std::shared_ptr<MemoryAccount>(std::shared_ptr<void>(), all);
  if (limit <= 0) return within;
  return MakeMemoryAccount(limit, std::move(within), MemoryLimitError::Of::kModel);
}

}  // namespace

EnsembleFactory EnsemblesOf(const EnsembleEnvironment& environment) {
  return [&environment](const inference::ModelConfig& config) { return Ensemble::Create(config, environment); };
}

absl::StatusOr<std::shared_ptr<EnsembleModel>> Ensemble::Create(const inference::ModelConfig& config,
                                                                const EnsembleEnvironment& environment) {
  auto graph = EnsembleGraph::Create(config);
  if (!graph.ok()) return graph.status();
  const auto settings = SettingsOf(config);
  if (!settings.ok()) return settings.status();
  std::shared_ptr<Ensemble> ensemble(new Ensemble(config, *std::move(graph), environment));
  ensemble->memory_limit_ = settings->memory_limit.value_or(environment.memory_limit);
  ensemble->memory_of_model_ = AccountOfModel(
      settings->requests_memory_limit.value_or(environment.memory_limit_of_model), environment.memory_of_all);
  return std::shared_ptr<EnsembleModel>(std::move(ensemble));
}

Ensemble::Ensemble(const inference::ModelConfig& config, EnsembleGraph graph, const EnsembleEnvironment& environment)
    : environment_(environment),
      config_(config),
      graph_(std::move(graph)),
      schema_(EnsembleSchema(config)),
      habits_(graph_.steps().size()) {
  const int64_t most = config.ensemble_scheduling().max_inflight_requests();
  for (size_t i = 0; i < graph_.steps().size() && most > 0; ++i) {
    limiters_.push_back(std::make_shared<StepLimiter>(most, environment.alarms, environment.post));
  }
}

absl::Status Ensemble::CheckSteps() const { return CheckEnsembleSteps(graph_, config_, environment_.repository); }

Ensemble::Habits Ensemble::HabitsOf(size_t step, const ServablePtr& servable) const {
  // Its own steps' models are dealt with by itself.
  if (servable->ensemble != nullptr) return {};
  {
    std::lock_guard lock(mutex_);
    const KnownHabits& known = habits_[step];
    if (!known.of.owner_before(servable) && !servable.owner_before(known.of)) return known.habits;
  }
  const auto changes = servable->model->WhyNotRepeatable("forward");
  const bool has_state = !changes.ok() || !changes->empty();
  const Habits habits{.writes_inputs = has_state || !servable->model->LeavesArguments("forward"),
                      .keeps_outputs = has_state};
  std::lock_guard lock(mutex_);
  habits_[step] = {servable, habits};
  return habits;
}

std::shared_ptr<CallHandle> Ensemble::Start(DispatchedCall call, DispatchCallback done) {
  const auto run = std::make_shared<EnsembleRun>(shared_from_this(), std::move(call), std::move(done));
  run->Start();
  return run;
}

const c10::FunctionSchema* Ensemble::FindMethod(std::string_view name) const {
  return name == "forward" ? &schema_ : nullptr;
}

absl::StatusOr<std::string> Ensemble::SideEffect(std::string_view method) const {
  if (method != "forward") return NoSuchMethod(method);
  return std::string("is an ensemble, whose steps' models may do more than answer");
}

absl::StatusOr<std::string> Ensemble::WhyNotRepeatable(std::string_view method) const {
  if (method != "forward") return NoSuchMethod(method);
  return std::string("is an ensemble, whose steps' models may be replaced (their own answers can be cached)");
}

std::shared_ptr<CallHandle> Ensemble::CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                                CallOptions options, Callback callback) {
  if (method != "forward") {
    callback(NoSuchMethod(method));
    return nullptr;
  }
  DispatchedCall call;
  call.arguments = {std::move(args), std::move(kwargs)};
  call.deadline = options.deadline;
  call.memory = options.memory != nullptr ? std::move(options.memory) : NewAccount(1);
  call.on_start = std::move(options.on_start);
  return Start(std::move(call), [callback = std::move(callback)](absl::StatusOr<c10::IValue> answer, const Execution&) {
    callback(std::move(answer));
  });
}

absl::StatusOr<c10::IValue> Ensemble::Call(std::string_view method, Arguments args, KeywordArguments kwargs,
                                           CallOptions options) {
  std::promise<absl::StatusOr<c10::IValue>> answer;
  CallAsync(method, std::move(args), std::move(kwargs), std::move(options),
            [&](absl::StatusOr<c10::IValue> value) { answer.set_value(std::move(value)); });
  return answer.get_future().get();
}

absl::StatusOr<c10::IValue> Ensemble::CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) {
  return Call("forward", std::move(args), std::move(kwargs), std::move(options));
}

std::shared_ptr<const void> Ensemble::WhenWarm(std::function<void()> done) {
  done();
  return nullptr;
}

absl::StatusOr<std::string> Ensemble::GraphText(std::string_view method, GraphStage /*stage*/) const {
  if (method != "forward") return NoSuchMethod(method);
  return absl::UnimplementedError("an ensemble has no graph of operators; its configuration has its steps");
}

std::shared_ptr<MemoryAccount> Ensemble::NewAccount(int64_t requests) const {
  int64_t limit = 0;
  if (__builtin_mul_overflow(memory_limit_, requests, &limit)) limit = std::numeric_limits<int64_t>::max();
  // What lies between steps counts in accounts within this one; its limit is the request's own.
  return MakeMemoryAccount(limit, memory_of_model_, MemoryLimitError::Of::kOne);
}

}  // namespace hearth::server
