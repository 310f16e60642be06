#include "jit/loaded_model.h"

#include <ATen/core/class_type.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>

#include "jit/arguments.h"
#include "jit/device/device.h"
#include "jit/device/stream.h"
#include "jit/executor/tiers.h"
#include "jit/frequent_calls.h"
#include "jit/ir/printer.h"
#include "jit/model_inspection.h"
#include "jit/status_of.h"

namespace hearth {
namespace {

// With the token of its call, so that a call takes one allocation for both.
class Handle final : public CallHandle {
 public:
  void Cancel() override { token_.Cancel(); }

  static std::shared_ptr<CancellationToken> TokenOf(const std::shared_ptr<Handle>& handle) {
    return {handle, &handle->token_};
  }

 private:
  CancellationToken token_;
};

// Whether it has a class, enum or interface that the archive's code declares, whose objects fit no other load of it.
bool IsOfUnit(const c10::Type& type) {
  if (const auto* declared = type.castRaw<c10::ClassType>()) {
    return !declared->name()->qualifiedName().starts_with("__torch__.torch.classes.");
  }
  if (type.kind() == c10::TypeKind::EnumType || type.kind() == c10::TypeKind::InterfaceType) return true;
  return std::ranges::any_of(type.containedTypes(), [](const c10::TypePtr& inner) { return IsOfUnit(*inner); });
}

}  // namespace

LoadedModel::~LoadedModel() {
  if (keeper_ != nullptr) keeper_->Release(executor_.object());
}

std::string LoadedModel::WhyNotSpread() const {
  for (const ModelExecutor::Method& method : executor_->methods()) {
    const MethodInfo info{method.name(), &method.schema(), imported_.object != nullptr};
    for (const c10::Argument& argument : info.arguments()) {
      if (IsOfUnit(*argument.type())) {
        return method.name() + " takes " + argument.name() + ", a " + argument.type()->annotation_str() +
               ", which is of one copy of the archive's classes";
      }
    }
  }
  if (!executor_->writes_state()) return "";
  for (const ModelExecutor::Method& method : executor_->methods()) {
    if (!method.state_write.empty()) {
      return method.name() + " " + method.state_write + ", of which each copy would have its own";
    }
  }
  return "a hook writes the model's state, of which each copy would have its own";
}

void LoadedModel::TransferProfilesTo(const ModelExecutor& successor) const {
  if (executor_->tiers() == nullptr || successor.tiers() == nullptr) return;
  successor.RestoreProfiles(executor_->tiers()->profiles());
}

std::vector<MethodInfo> LoadedModel::methods() const {
  std::vector<MethodInfo> methods;
  for (const ModelExecutor::Method& method : executor_->methods()) {
    methods.push_back({method.name(), &method.schema(), imported_.object != nullptr});
  }
  return methods;
}

const c10::FunctionSchema* LoadedModel::FindMethod(std::string_view name) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  return method ? &method->schema() : nullptr;
}

absl::StatusOr<std::string> LoadedModel::SideEffect(std::string_view name) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
  return executor_->SideEffect(*method);
}

absl::StatusOr<BatchProof> LoadedModel::ProveBatch(std::string_view name,
                                                   std::span<const BatchArgument> arguments) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
  return executor_->ProveBatch(*method, arguments, on_->device);
}

absl::StatusOr<std::string> LoadedModel::WhyNotRepeatable(std::string_view name) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
  std::string effect = executor_->SideEffect(*method);
  if (!effect.empty() || method->repeatable) return effect;
  return std::string("depends on what other calls write");
}

bool LoadedModel::LeavesArguments(std::string_view name) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  return method != nullptr && method->leaves_arguments;
}

at::Tensor LoadedModel::NewLockedArgument(c10::IntArrayRef sizes, c10::ScalarType dtype) const {
  return NewLocked(sizes, dtype, on_->device);
}

bool LoadedModel::RunsOnCaller(std::string_view name) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  return method != nullptr && method->may_begin_on_caller();
}

std::shared_ptr<CallHandle> LoadedModel::CallAsync(std::string_view name, Arguments args, KeywordArguments kwargs,
                                                   CallOptions options, Callback callback) {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) {
    callback(absl::NotFoundError("the model has no method '" + std::string(name) + "'"));
    return std::make_shared<Handle>();
  }
  return Start(*method, std::move(args), std::move(kwargs), std::move(options), std::move(callback));
}

absl::StatusOr<c10::IValue> LoadedModel::Call(std::string_view name, Arguments args, KeywordArguments kwargs,
                                              CallOptions options) {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
  return StartAndWait(*method, std::move(args), std::move(kwargs), std::move(options));
}

absl::StatusOr<c10::IValue> LoadedModel::CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) {
  if (!imported_.object) {
    const bool only = executor_->methods().size() == 1;
    return Call(only ? executor_->methods().front().name() : "forward", std::move(args), std::move(kwargs), options);
  }
  const c10::ClassTypePtr type = executor_->module()->type();
  for (torch::jit::Function* hook : type->getForwardPreHooks()) {
    absl::StatusOr<c10::IValue> changed =
        StartAndWait(*executor_->Find(*hook), {c10::ivalue::Tuple::create(args)}, {}, options);
    if (!changed.ok()) return changed;
    if (changed->isTuple()) {
      args = changed->toTupleRef().elements().vec();
    } else if (!changed->isNone()) {
      args = {*changed};
    }
  }
  absl::StatusOr<c10::IValue> result = Call("forward", args, std::move(kwargs), options);
  for (torch::jit::Function* hook : type->getForwardHooks()) {
    if (!result.ok()) return result;
    absl::StatusOr<c10::IValue> changed =
        StartAndWait(*executor_->Find(*hook), {c10::ivalue::Tuple::create(args), *result}, {}, options);
    if (!changed.ok() || !changed->isNone()) result = std::move(changed);
  }
  return result;
}

std::vector<int> LoadedModel::operator_threads() const { return pool_.OperatorThreads(); }

std::vector<AttributeInfo> LoadedModel::attributes() const {
  return imported_.object ? ListAttributes(*imported_.object) : std::vector<AttributeInfo>();
}

std::vector<PlanInfo> LoadedModel::plans(bool with_graphs) const {
  return executor_->tiers() ? ListPlans(*executor_->tiers(), with_graphs) : std::vector<PlanInfo>();
}

std::vector<FrequentCall> LoadedModel::frequent_calls(size_t most) const { return FrequentCalls(*executor_, most); }

std::vector<CompilationInfo> LoadedModel::compilations() const {
  return executor_->tiers() ? ListCompilations(*executor_->tiers()) : std::vector<CompilationInfo>();
}

PlanCounts LoadedModel::plan_counts() const {
  if (executor_->tiers() == nullptr) return {};
  const TierCounts counts = executor_->tiers()->counts();
  return {counts.specs,           counts.failed,      counts.plans[0],
          counts.plans[1],        counts.bytes,       counts.copied_bytes,
          counts.recorded_bytes,  counts.bailouts,    counts.guard_failures,
          counts.plan_exceptions, counts.invalidated, {counts.calls[0], counts.calls[1], counts.calls[2]}};
}

std::shared_ptr<const void> LoadedModel::WhenWarm(std::function<void()> done) {
  if (executor_->tiers() != nullptr) return executor_->tiers()->WhenWarm(std::move(done));
  done();
  return nullptr;
}

std::vector<OperatorUse> LoadedModel::operators() const { return CountOperators(*imported_.unit); }

absl::StatusOr<std::string> LoadedModel::GraphText(std::string_view name, GraphStage stage) const {
  const ModelExecutor::Method* method = executor_->Find(name);
  if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
  return PrintGraph(stage == GraphStage::kEmitted ? method->function->emitted_graph() : *method->baseline);
}

std::vector<std::pair<std::string, std::string>> LoadedModel::sources() const {
  if (imported_.archive) return ReadSources(*imported_.archive);
  std::vector<std::pair<std::string, std::string>> sources;
  for (const auto& source : imported_.unit->sources()) sources.emplace_back(source->name(), source->text());
  return sources;
}

uint64_t LoadedModel::weight_bytes() const { return imported_.object ? WeightBytes(*imported_.object) : 0; }

MemoryUse LoadedModel::memory_use() const {
  const PlanCounts plans = plan_counts();
  const uint64_t on_device = weight_bytes() + plans.copied_bytes + plans.recorded_bytes;
  MemoryUse use{.host = code_bytes_ + plans.bytes};
  if (device().is_cuda()) {
    use.gpus[device().index()] = on_device;
  } else {
    use.host += on_device;
  }
  return use;
}

std::shared_ptr<MemoryAccount> LoadedModel::NewAccount(int64_t requests) const {
  int64_t limit = 0;
  if (__builtin_mul_overflow(limits_.memory, requests, &limit)) limit = std::numeric_limits<int64_t>::max();
  return MakeMemoryAccount(limit, limits_.memory_of_model);
}

void LoadedModel::LimitRunTime(const std::shared_ptr<CancellationToken>& token, CallOptions& options,
                               Callback& callback) const {
  options.on_start = [token, limit = limits_.run_time, on_start = std::move(options.on_start)] {
    token->LimitRun(limit);
    if (on_start) on_start();
  };
  callback = [token, limit = limits_.run_time, callback = std::move(callback)](absl::StatusOr<c10::IValue> answer) {
    if (absl::IsDeadlineExceeded(answer.status()) && token->limited()) {
      char text[80];
      std::snprintf(text, sizeof text, "the run took longer than it may: more than %g s",
                    std::chrono::duration<double>(limit).count());
      answer = absl::DeadlineExceededError(text);
    }
    callback(std::move(answer));
  };
}

std::shared_ptr<CallHandle> LoadedModel::Start(const ModelExecutor::Method& method, Arguments args,
                                               KeywordArguments kwargs, CallOptions options, Callback callback) {
  const auto handle = std::make_shared<Handle>();
  std::shared_ptr<CancellationToken> token = Handle::TokenOf(handle);
  if (options.deadline) token->SetDeadline(*options.deadline);
  if (limits_.run_time.count() > 0 && !options.is_warmup) LimitRunTime(token, options, callback);

  DeviceHealth* const health = on_->health.get();
  // Whatever it would answer could be wrong, and what it waits for may never come.
  if (on_->failed()) {
    callback(absl::UnavailableError(health->what()));
    return handle;
  }
  const auto stream = executor_->writes_state() ? DefaultStream(on_->device) : on_->streams->Take();
  std::optional<c10::Stream> on_stream;
  if (stream) on_stream = *stream;
  Arguments bound;
  try {
    std::optional<c10::IValue> self;
    if (imported_.object) self = method.uses_self ? c10::IValue(imported_.object) : c10::IValue();
    bound = BindArguments(method.schema(), std::move(self), std::move(args), std::move(kwargs));
    if (stream) {
      const c10::StreamGuard guard(*stream);
      for (size_t i = imported_.object ? 1 : 0; i < bound.size(); ++i) bound[i] = CopyToDevice(bound[i], on_->device);
    }
  } catch (...) {
    callback(StatusOn(health, std::current_exception()));
    return handle;
  }
  ModelExecutor::CallSettings settings{std::move(token),
                                       options.memory != nullptr ? std::move(options.memory) : NewAccount(1),
                                       std::move(options.on_start),
                                       options.may_run_here,
                                       on_stream,
                                       nullptr,
                                       {options.failing_guard, options.is_warmup},
                                       options.operator_threads,
                                       options.tier,
                                       options.in_background ? &background_ : nullptr,
                                       executor_.Reference()};
  if (options.in_background && settings.operator_threads == 0) settings.operator_threads = 1;
  if (options.report != nullptr) {
    settings.report = std::make_shared<RunReport>();
    settings.report->profile.KeepEvents(options.report->most_events);
    callback = [&method, report = options.report, run = settings.report,
                callback = std::move(callback)](absl::StatusOr<c10::IValue> answer) {
      report->runs.push_back(DescribeRun(method.function->qualname().qualifiedName(), *run));
      callback(std::move(answer));
    };
  }
  const bool served = !options.is_warmup;
  if (served) traffic_.Begin();
  // The run keeps the executor, and the runtime the rest: nothing that all calls share is counted here.
  executor_->RunAsync(method, std::move(bound), std::move(settings),
                      [stream, stays = options.answer_stays_on_device, traffic = served ? &traffic_ : nullptr, health,
                       callback = std::move(callback)](c10::IValue value, const std::exception_ptr& error) {
                        auto answer = Finish(std::move(value), error, stream.get(), stays, health);
                        if (traffic != nullptr) traffic->End();
                        callback(std::move(answer));
                      });
  return handle;
}

absl::StatusOr<c10::IValue> LoadedModel::StartAndWait(const ModelExecutor::Method& method, Arguments args,
                                                      KeywordArguments kwargs, CallOptions options) {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<absl::StatusOr<c10::IValue>> result;
  Start(method, std::move(args), std::move(kwargs), std::move(options), [&](absl::StatusOr<c10::IValue> answer) {
    std::lock_guard lock(mutex);
    result = std::move(answer);
    done.notify_one();
  });
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

absl::StatusOr<c10::IValue> LoadedModel::Finish(c10::IValue value, std::exception_ptr error, const c10::Stream* stream,
                                                bool stays, DeviceHealth* health) {
  if (stream) {
    try {
      const c10::StreamGuard guard(*stream);
      if (!error && !stays) value = MoveToDevice(value, c10::kCPU);
      // What failed on the device is told to the request whose work it was, also where no answer comes from there.
      stream->synchronize();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) return StatusOn(health, error);
  return value;
}

absl::Status LoadedModel::StatusOn(DeviceHealth* health, const std::exception_ptr& error) {
  absl::Status status = StatusOf(error);
  if (health == nullptr || !absl::IsInternal(status)) return status;
  switch (health->Examine(std::string(status.message()))) {
    case DeviceHealth::Finding::kSound:
      return status;
    case DeviceHealth::Finding::kFailsNow:
      return absl::InternalError(std::string(status.message()) + "\n" + health->what());
    case DeviceHealth::Finding::kFailedBefore:
      break;
  }
  // It may have been another call's fault: this one may do well elsewhere.
  return absl::UnavailableError(health->what());
}

}  // namespace hearth
