#include "jit/runtime.h"

#include <ATen/core/class_type.h>
#include <c10/core/StreamGuard.h>

#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "jit/archive/importer.h"
#include "jit/archive/mapping.h"
#include "jit/archive/saved_value.h"
#include "jit/arguments.h"
#include "jit/device/device.h"
#include "jit/device/stream.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/tiers.h"
#include "jit/executor/traffic.h"
#include "jit/frontend/builtin_functions.h"
#include "jit/frontend/errors.h"
#include "jit/frontend/source_importer.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/ir/printer.h"
#include "jit/model_inspection.h"
#include "jit/operators/library.h"
#include "jit/profile_store/profile_keeper.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/disposal_thread.h"
#include "jit/support/errors.h"
#include "jit/support/large_stack.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"
#include "jit/support/operator_threads.h"
#include "jit/support/resource_error.h"
#include "jit/support/striped_pointer.h"

namespace hearth {
namespace {

// The one place where exceptions become statuses.
absl::Status StatusOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const UnknownOperatorError& e) {
    return absl::UnimplementedError(e.what());
  } catch (const CompileError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const FileError& e) {
    return e.error_number() == ENOENT ? absl::NotFoundError(e.what()) : absl::InvalidArgumentError(e.what());
  } catch (const ArchiveError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const ArgumentError& e) {
    return absl::InvalidArgumentError(e.what());
  } catch (const CancelledError& e) {
    return e.reason() == CancelledError::Reason::kDeadline ? absl::DeadlineExceededError(e.what())
                                                           : absl::CancelledError(e.what());
  } catch (const ResourceError& e) {
    return absl::ResourceExhaustedError(e.what());
  } catch (const MemoryLimitError& e) {
    return absl::ResourceExhaustedError(e.what());
  } catch (const ModelError& e) {
    return absl::InternalError(e.what());
  } catch (const c10::Error& e) {
    return absl::InternalError(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  }
}

// Null for a limit of 0, which is none, if there is nothing that it is within.
std::shared_ptr<MemoryAccount> MakeAccount(int64_t limit, std::shared_ptr<MemoryAccount> within = nullptr,
                                           MemoryLimitError::Of shared_by = MemoryLimitError::Of::kAll) {
  if (limit <= 0 && within == nullptr) return nullptr;
  // What it is within lives as long as it does.
  struct Nested {
    Nested(int64_t most, std::shared_ptr<MemoryAccount> around, MemoryLimitError::Of shared)
        : within(std::move(around)), account(most, within.get(), shared) {}
    const std::shared_ptr<MemoryAccount> within;
    MemoryAccount account;
  };
  const int64_t most = limit > 0 ? limit : std::numeric_limits<int64_t>::max();
  const auto nested = std::make_shared<Nested>(most, std::move(within), shared_by);
  return {nested, &nested->account};
}

// Deletes what a device's last work may still use.
struct WhenIdle {
  c10::Device device;
  void operator()(ModelExecutor* executor) const {
    try {
      WaitForDevice(device);
    } catch (const std::exception&) {
      // Told already to the request whose work it was.
    }
    delete executor;
    ReturnFreedMemory();
  }
};

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

class LoadedModel final : public Model {
 public:
  // Runs on `pool`. A memory limit of 0 is none. `keeper`, which may be null, has adopted the executor. `traffic` is
  // told of calls.
  LoadedModel(const std::shared_ptr<ModelExecutor>& executor, const ThreadPool& pool, ImportedModule imported,
              c10::Device device, std::shared_ptr<StreamPool> streams, int64_t memory_limit,
              std::shared_ptr<MemoryAccount> memory_of_model, Traffic& traffic, std::shared_ptr<ProfileKeeper> keeper)
      : executor_(executor),
        pool_(pool),
        imported_(std::move(imported)),
        device_(device),
        streams_(std::move(streams)),
        memory_limit_(memory_limit),
        memory_of_model_(std::move(memory_of_model)),
        traffic_(traffic),
        keeper_(std::move(keeper)) {}

  // On the runtime's thread for that: it writes to the disk, and the executor ends after it.
  ~LoadedModel() override {
    if (keeper_ != nullptr) keeper_->Release(executor_.object());
  }

  // Has `successor` make plans for what this model is called with.
  void TransferProfilesTo(const ModelExecutor& successor) const {
    if (executor_->tiers() == nullptr || successor.tiers() == nullptr) return;
    successor.RestoreProfiles(executor_->tiers()->profiles());
  }

  std::vector<MethodInfo> methods() const override {
    std::vector<MethodInfo> methods;
    for (const ModelExecutor::Method& method : executor_->methods()) {
      methods.push_back({method.name(), &method.schema(), imported_.object != nullptr});
    }
    return methods;
  }

  const c10::FunctionSchema* FindMethod(std::string_view name) const override {
    const ModelExecutor::Method* method = executor_->Find(name);
    return method ? &method->schema() : nullptr;
  }

  std::shared_ptr<CallHandle> CallAsync(std::string_view name, Arguments args, KeywordArguments kwargs,
                                        CallOptions options, Callback callback) override {
    const ModelExecutor::Method* method = executor_->Find(name);
    if (method == nullptr) {
      callback(absl::NotFoundError("the model has no method '" + std::string(name) + "'"));
      return std::make_shared<Handle>();
    }
    return Start(*method, std::move(args), std::move(kwargs), std::move(options), std::move(callback));
  }

  absl::StatusOr<c10::IValue> Call(std::string_view name, Arguments args, KeywordArguments kwargs,
                                   CallOptions options) override {
    const ModelExecutor::Method* method = executor_->Find(name);
    if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
    return StartAndWait(*method, std::move(args), std::move(kwargs), std::move(options));
  }

  absl::StatusOr<c10::IValue> CallModule(Arguments args, KeywordArguments kwargs, CallOptions options) override {
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

  std::vector<int> operator_threads() const override { return pool_.OperatorThreads(); }

  std::vector<AttributeInfo> attributes() const override {
    return imported_.object ? ListAttributes(*imported_.object) : std::vector<AttributeInfo>();
  }

  std::vector<PlanInfo> plans(bool with_graphs) const override {
    return executor_->tiers() ? ListPlans(*executor_->tiers(), with_graphs) : std::vector<PlanInfo>();
  }

  std::vector<CompilationInfo> compilations() const override {
    return executor_->tiers() ? ListCompilations(*executor_->tiers()) : std::vector<CompilationInfo>();
  }

  PlanCounts plan_counts() const override {
    if (executor_->tiers() == nullptr) return {};
    const TierCounts counts = executor_->tiers()->counts();
    return {counts.specs,
            counts.failed,
            counts.plans[0],
            counts.plans[1],
            counts.bytes,
            counts.copied_bytes,
            counts.bailouts,
            counts.guard_failures,
            counts.plan_exceptions,
            counts.invalidated,
            {counts.calls[0], counts.calls[1], counts.calls[2]}};
  }

  std::shared_ptr<const void> WhenWarm(std::function<void()> done) override {
    if (executor_->tiers() != nullptr) return executor_->tiers()->WhenWarm(std::move(done));
    done();
    return nullptr;
  }

  std::vector<OperatorUse> operators() const override { return CountOperators(*imported_.unit); }

  absl::StatusOr<std::string> GraphText(std::string_view name, GraphStage stage) const override {
    const ModelExecutor::Method* method = executor_->Find(name);
    if (method == nullptr) return absl::NotFoundError("the model has no method '" + std::string(name) + "'");
    return PrintGraph(stage == GraphStage::kEmitted ? method->function->emitted_graph() : *method->baseline);
  }

  std::vector<std::pair<std::string, std::string>> sources() const override {
    if (imported_.archive) return ReadSources(*imported_.archive);
    std::vector<std::pair<std::string, std::string>> sources;
    for (const auto& source : imported_.unit->sources()) sources.emplace_back(source->name(), source->text());
    return sources;
  }

  uint64_t weight_bytes() const override { return imported_.object ? WeightBytes(*imported_.object) : 0; }

  std::shared_ptr<MemoryAccount> NewAccount() const override { return MakeAccount(memory_limit_, memory_of_model_); }

 private:
  // Starts a call of a method or hook; its callback gets what CallAsync promises.
  std::shared_ptr<CallHandle> Start(const ModelExecutor::Method& method, Arguments args, KeywordArguments kwargs,
                                    CallOptions options, Callback callback) {
    const auto handle = std::make_shared<Handle>();
    std::shared_ptr<CancellationToken> token = Handle::TokenOf(handle);
    if (options.deadline) token->SetDeadline(*options.deadline);

    const auto stream = executor_->writes_state() ? DefaultStream(device_) : streams_->Take();
    std::optional<c10::Stream> on_stream;
    if (stream) on_stream = *stream;
    Arguments bound;
    try {
      std::optional<c10::IValue> self;
      if (imported_.object) self = method.uses_self ? c10::IValue(imported_.object) : c10::IValue();
      bound = BindArguments(method.schema(), std::move(self), std::move(args), std::move(kwargs));
      if (stream) {
        const c10::StreamGuard guard(*stream);
        for (size_t i = imported_.object ? 1 : 0; i < bound.size(); ++i) bound[i] = MoveToDevice(bound[i], device_);
      }
    } catch (...) {
      callback(StatusOf(std::current_exception()));
      return handle;
    }
    ModelExecutor::CallSettings settings{std::move(token),
                                         options.memory != nullptr ? std::move(options.memory) : NewAccount(),
                                         std::move(options.on_start),
                                         options.may_run_here,
                                         on_stream,
                                         nullptr,
                                         options.failing_guard,
                                         options.operator_threads,
                                         executor_.Reference()};
    if (options.report != nullptr) {
      settings.report = std::make_shared<RunReport>();
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
                        [stream, traffic = served ? &traffic_ : nullptr, callback = std::move(callback)](
                            c10::IValue value, const std::exception_ptr& error) {
                          auto answer = Finish(std::move(value), error, stream.get());
                          if (traffic != nullptr) traffic->End();
                          callback(std::move(answer));
                        });
    return handle;
  }

  // The same, waited for.
  absl::StatusOr<c10::IValue> StartAndWait(const ModelExecutor::Method& method, Arguments args, KeywordArguments kwargs,
                                           CallOptions options) {
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

  static absl::StatusOr<c10::IValue> Finish(c10::IValue value, std::exception_ptr error, const c10::Stream* stream) {
    if (stream) {
      try {
        const c10::StreamGuard guard(*stream);
        if (!error) value = MoveToDevice(value, c10::kCPU);
        // What failed on the device is told to the request whose work it was, also where no answer comes from there.
        stream->synchronize();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) return StatusOf(error);
    return value;
  }

  const StripedPointer<ModelExecutor> executor_;
  const ThreadPool& pool_;
  ImportedModule imported_;
  const c10::Device device_;
  const std::shared_ptr<StreamPool> streams_;
  const int64_t memory_limit_;
  const std::shared_ptr<MemoryAccount> memory_of_model_;  // null: nothing is limited for them together
  Traffic& traffic_;
  const std::shared_ptr<ProfileKeeper> keeper_;
};

absl::Status LoadLibraries(const std::vector<std::string>& libraries) {
  try {
    for (const std::string& library : libraries) LoadOperatorLibrary(library);
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return absl::NotFoundError(e.what());
  }
}

// Null where every call runs the baseline.
std::optional<TierSettings> MakeTierSettings(const CompilerOptions& options, std::shared_ptr<StreamPool> streams,
                                             std::shared_ptr<Traffic> traffic,
                                             std::shared_ptr<DisposalQueue> disposal) {
  if (options.tier == Tier::kBaseline) return std::nullopt;
  TierSettings settings;
  settings.disposal = std::move(disposal);
  const CodeCacheLimits limits{options.max_plans, static_cast<size_t>(options.plan_bytes)};
  settings.budget = std::make_shared<CodeCacheBudget>(limits);
  settings.cache.limits.bytes = limits.bytes;
  settings.copies = std::make_shared<DerivedConstantBudget>(static_cast<size_t>(options.weight_copies));
  settings.cache.compile_after = options.compile_after;
  settings.exact_after = options.exact_after;
  settings.fail_guards = options.fail_guards;
  if (options.tier == Tier::kSpecialised || options.tier == Tier::kExact) {
    settings.forced = true;
    settings.forced_exact = options.tier == Tier::kExact;
    settings.forced_profile = options.profiled;
    settings.cache.compile_after = 1;
  } else {
    BackgroundCompiler::Settings compiler;
    compiler.processor_share = options.processor_share;
    compiler.serving = [traffic = std::move(traffic)] { return traffic->IsServing(std::chrono::steady_clock::now()); };
    compiler.job_memory = options.job_memory;
    compiler.job_seconds = options.job_seconds;
    settings.compiler = std::make_shared<BackgroundCompiler>(compiler);
    if (options.shadow_share > 0) {
      ShadowRuns::Settings shadow;
      shadow.share = options.shadow_share;
      shadow.streams = std::move(streams);
      settings.shadow = std::make_shared<ShadowRuns>(std::move(shadow));
    }
  }
  return settings;
}

// As one model has them.
std::optional<TierSettings> TierSettingsOf(const LoadOptions& options, std::optional<TierSettings> settings) {
  if (!settings) return std::nullopt;
  CodeCacheLimits& limits = settings->cache.limits;
  if (options.max_plans) limits.entries = *options.max_plans;
  if (options.plan_bytes) limits.bytes = static_cast<size_t>(*options.plan_bytes);
  if (settings->forced) return settings;
  if (options.compile_after) settings->cache.compile_after = *options.compile_after;
  if (options.exact_after) settings->exact_after = *options.exact_after;
  return settings;
}

// Null where nothing is kept.
std::shared_ptr<ProfileKeeper> MakeKeeper(const CompilerOptions& options) {
  if (options.tier != Tier::kAuto || options.cache_dir.empty()) return nullptr;
  return std::make_shared<ProfileKeeper>(options.cache_dir, options.cache_interval);
}

class RuntimeImpl final : public Runtime {
 public:
  RuntimeImpl(c10::Device device, const RuntimeOptions& options)
      : device_(device),
        streams_(std::make_shared<StreamPool>(device)),
        memory_limit_(options.memory_limit),
        memory_limit_of_model_(options.memory_limit_of_model),
        memory_of_all_(MakeAccount(options.memory_limit_of_all)),
        load_memory_limit_(options.load_memory_limit),
        load_time_limit_(options.load_time_limit),
        tiers_(MakeTierSettings(options.compiler, streams_, traffic_, disposal_.queue())),
        pool_(options.threads, options.operator_threads),
        keeper_(MakeKeeper(options.compiler)) {
    // Beside whatever the caller does before its first archive needs it.
    pool_.Post([] { PrepareBuiltinFunctions(); });
  }

  ~RuntimeImpl() override {
    if (tiers_ && tiers_->shadow != nullptr) tiers_->shadow->Close();
  }

  absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& path, const LoadOptions& options) override {
    absl::StatusOr<std::shared_ptr<Model>> loaded;
    // What runs while a model loads may nest values as deeply as what runs later.
    {
      LargeStackThread thread([&] { loaded = LoadHere(path, options); });
    }
    return loaded;
  }

  absl::StatusOr<std::shared_ptr<Model>> LoadSource(const std::string& path, const LoadOptions& options) override {
    absl::StatusOr<std::shared_ptr<Model>> loaded;
    {
      LargeStackThread thread([&] { loaded = LoadSourceHere(path, options); });
    }
    return loaded;
  }

  MemoryAccount* memory_of_all() const override { return memory_of_all_.get(); }
  void Post(std::function<void()> work) override { pool_.Post(std::move(work)); }

  CompilerCounters compiler_counters() const override {
    if (!tiers_ || tiers_->compiler == nullptr) return {};
    const BackgroundCompiler::Counters now = tiers_->compiler->counters();
    CompilerCounters counters{
        now.queued, now.running, now.done, now.failed, now.cancelled, now.dropped + now.busy, now.processor_seconds};
    if (tiers_->shadow != nullptr) {
      const ShadowRuns::Counters shadow = tiers_->shadow->counters();
      counters.shadow_runs = shadow.runs;
      counters.shadow_differences = shadow.differences;
    }
    return counters;
  }

 private:
  absl::StatusOr<std::shared_ptr<Model>> LoadHere(const std::string& path, const LoadOptions& options) {
    if (absl::Status status = LoadLibraries(options.operator_libraries); !status.ok()) return status;
    RunOptions run_options;
    run_options.memory = MakeAccount(load_memory_limit_);
    run_options.token = std::make_shared<CancellationToken>();
    const MemoryAccount::Scope memory(run_options.memory.get());
    const LoadBudget budget(load_time_limit_, options.stop);
    const std::stop_callback cancel(options.stop, [token = run_options.token] { token->Cancel(); });
    try {
      const OperatorReader operators;
      std::optional<CodeBuilder> builder;
      const std::optional<c10::Device> redirect = device_.is_cpu() ? std::nullopt : std::optional(device_);
      ImportOptions import_options;
      import_options.device = device_;
      import_options.run = [&](CompilationUnit& unit, Function& function, std::vector<c10::IValue> arguments) {
        const LoadBudget::Activity running("running ", function.qualname().qualifiedName());
        if (!builder) builder.emplace(unit, redirect);
        builder->BuildUnbound(function);
        if (load_time_limit_.count() > 0) run_options.token->SetDeadline(budget.deadline());
        return hearth::Run(*CodeOf(function), std::move(arguments), run_options);
      };
      const auto mode = options.map_file_in_place ? Mapping::Mode::kInPlace : Mapping::Mode::kPrivateCopy;
      ImportedModule imported = ImportModule(Mapping::Open(path, mode), import_options);
      if (!builder) builder.emplace(*imported.unit, redirect);
      // Runs on streams of their own begin when the weights are there, and the weights go when the device is idle.
      const std::shared_ptr<ModelExecutor> executor = Own(std::make_unique<ModelExecutor>(
          imported.unit, imported.object, *builder, generators_, &pool_, TierSettingsOf(options, tiers_)));
      if (const auto stream = DefaultStream(device_)) stream->synchronize();
      TakeProfiles(options, *executor);
      if (keeper_ != nullptr) keeper_->Adopt(executor, *imported.archive, device_);
      return MakeModel(executor, std::move(imported), options, keeper_);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  // Ends on the thread for that, once the device has done what it was given.
  std::shared_ptr<ModelExecutor> Own(std::unique_ptr<ModelExecutor> executor) const {
    return disposal_.queue()->Own(std::unique_ptr<ModelExecutor, WhenIdle>(executor.release(), WhenIdle{device_}));
  }

  std::shared_ptr<Model> MakeModel(std::shared_ptr<ModelExecutor> executor, ImportedModule imported,
                                   const LoadOptions& options, std::shared_ptr<ProfileKeeper> keeper) {
    return disposal_.queue()->Own(std::make_unique<LoadedModel>(executor, pool_, std::move(imported), device_, streams_,
                                                                options.memory_limit.value_or(memory_limit_),
                                                                MemoryOfModel(options), *traffic_, std::move(keeper)));
  }

  // What all calls of a model count for.
  std::shared_ptr<MemoryAccount> MemoryOfModel(const LoadOptions& options) const {
    const int64_t limit = options.memory_limit_of_model.value_or(memory_limit_of_model_);
    return limit > 0 ? MakeAccount(limit, memory_of_all_, MemoryLimitError::Of::kModel) : memory_of_all_;
  }

  // Asks for plans for what the model's predecessor is called with.
  static void TakeProfiles(const LoadOptions& options, const ModelExecutor& successor) {
    if (const auto* predecessor = dynamic_cast<const LoadedModel*>(options.predecessor.get())) {
      predecessor->TransferProfilesTo(successor);
    }
  }

  // Of what ended a load: which limit was passed, and what it was about.
  static absl::Status StatusOfLoad(const LoadBudget& budget, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const CancelledError& error) {
      if (error.reason() == CancelledError::Reason::kCancelled) {
        return absl::CancelledError(LoadStoppedError().what() + budget.Interrupted());
      }
      return absl::DeadlineExceededError(budget.TimeMessage() + budget.Interrupted());
    } catch (const LoadStoppedError& error) {
      return absl::CancelledError(error.what() + budget.Interrupted());
    } catch (const LoadTimeError&) {
      return absl::DeadlineExceededError(budget.TimeMessage() + budget.Interrupted());
    } catch (const MemoryLimitError& e) {
      return absl::ResourceExhaustedError(std::string("loading the model ") + e.what() + budget.Interrupted());
    } catch (...) {
      return StatusOf(std::current_exception());
    }
  }

  absl::StatusOr<std::shared_ptr<Model>> LoadSourceHere(const std::string& path, const LoadOptions& options) {
    if (absl::Status status = LoadLibraries(options.operator_libraries); !status.ok()) return status;
    const std::shared_ptr<MemoryAccount> account = MakeAccount(load_memory_limit_);
    const MemoryAccount::Scope memory(account.get());
    const LoadBudget budget(load_time_limit_, options.stop);
    try {
      const OperatorReader operators;
      const std::shared_ptr<const Mapping> file = Mapping::Open(path, Mapping::Mode::kInPlace);
      ImportedModule imported;
      imported.unit = CompilationUnit::Create();
      SourceImporter importer(imported.unit, std::make_shared<const Source>(std::string(file->bytes()), path));
      std::vector<Function*> functions;
      if (options.function.empty()) {
        functions = importer.LoadFunctions();
      } else if (Function* only = importer.LoadFunctionOfFile(options.function)) {
        functions = {only};
      } else {
        return absl::NotFoundError(path + " defines no function '" + options.function + "'");
      }
      importer.DefineAll();
      CodeBuilder builder(*imported.unit, device_.is_cpu() ? std::nullopt : std::optional(device_));
      const std::shared_ptr<ModelExecutor> executor = Own(
          std::make_unique<ModelExecutor>(imported.unit, functions, builder, &pool_, TierSettingsOf(options, tiers_)));
      TakeProfiles(options, *executor);
      return MakeModel(executor, std::move(imported), options, nullptr);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  const c10::Device device_;
  const std::shared_ptr<StreamPool> streams_;
  const int64_t memory_limit_;
  const int64_t memory_limit_of_model_;
  const std::shared_ptr<MemoryAccount> memory_of_all_;
  const int64_t load_memory_limit_;
  const std::chrono::nanoseconds load_time_limit_;
  const std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  const DisposalThread disposal_;  // ends after the pool, whose calls may be the last to hold a model
  const std::optional<TierSettings> tiers_;
  const std::shared_ptr<TurnList> generators_ = std::make_shared<TurnList>();  // which runs may draw and seed when
  ThreadPool pool_;
  const std::shared_ptr<ProfileKeeper> keeper_;  // null: nothing is kept
};

}  // namespace

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(const RuntimeOptions& options) {
  if (absl::Status status = LoadLibraries(options.operator_libraries); !status.ok()) return status;
  try {
    InstallCountingAllocator();
    LetIdleTeamsSleep();
    KeepOperatorsToTheQuota();
    KeepFreedMemory(static_cast<size_t>(options.kept_memory));
    return std::make_unique<RuntimeImpl>(OpenDevice(options.device), options);
  } catch (const std::exception& e) {
    return absl::FailedPreconditionError(e.what());
  }
}

absl::StatusOr<c10::IValue> ReadSavedValue(const std::string& path) {
  try {
    return ReadSavedFile(path);
  } catch (...) {
    return StatusOf(std::current_exception());
  }
}

absl::Status WriteSavedValue(const c10::IValue& value, const std::string& path) {
  try {
    WriteSavedFile(value, path);
    return absl::OkStatus();
  } catch (...) {
    return StatusOf(std::current_exception());
  }
}

}  // namespace hearth
