#include "jit/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <utility>

#include "jit/archive/importer.h"
#include "jit/archive/mapping.h"
#include "jit/archive/saved_value.h"
#include "jit/device/device.h"
#include "jit/device/gpu.h"
#include "jit/device/stream.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/tiers.h"
#include "jit/executor/traffic.h"
#include "jit/frontend/builtin_functions.h"
#include "jit/frontend/source_importer.h"
#include "jit/fuser/runtime/kernel_table.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/loaded_model.h"
#include "jit/operators/library.h"
#include "jit/profile_store/profile_keeper.h"
#include "jit/status_of.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/disposal_thread.h"
#include "jit/support/large_stack.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"
#include "jit/support/operator_threads.h"

namespace hearth {
namespace {

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

absl::Status LoadLibraries(const std::vector<std::string>& libraries) {
  try {
    for (const std::string& library : libraries) LoadOperatorLibrary(library);
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return absl::NotFoundError(e.what());
  }
}

// The program that makes the code of kernels; empty if there is none.
std::string KernelCompiler() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path path = program.parent_path() / "hearth-codegen";
  return access(path.c_str(), X_OK) == 0 ? path.string() : "";
}

// Null where every call runs the baseline.
std::optional<TierSettings> MakeTierSettings(const CompilerOptions& options, const std::shared_ptr<Gpu>& gpu,
                                             std::shared_ptr<StreamPool> streams, std::shared_ptr<Traffic> traffic,
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
  if (gpu != nullptr) settings.capture = CaptureSettings{.gpu = gpu, .streams = streams};
  const std::string kernel_compiler = options.fuse ? KernelCompiler() : "";
  if (!kernel_compiler.empty()) {
    fuser::KernelTable::Settings kernels{.helper = kernel_compiler, .folder = options.cache_dir};
    if (gpu != nullptr) {
      kernels.target = "cuda:" + gpu->architecture();
      kernels.environment = {"HEARTH_NVRTC=" + gpu->library_folder()};
      kernels.gpu = gpu;
    }
    settings.kernels = std::make_shared<fuser::KernelTable>(std::move(kernels));
  }
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
        gpu_(OpenGpu(device)),
        streams_(std::make_shared<StreamPool>(device)),
        memory_limit_(options.memory_limit),
        memory_limit_of_model_(options.memory_limit_of_model),
        memory_of_all_(MakeMemoryAccount(options.memory_limit_of_all)),
        run_time_limit_(options.run_time_limit),
        load_memory_limit_(options.load_memory_limit),
        load_time_limit_(options.load_time_limit),
        tiers_(MakeTierSettings(options.compiler, gpu_, streams_, traffic_, disposal_.queue())),
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

  bool has_gpu() const override { return gpu_ != nullptr; }
  absl::StatusOr<at::Tensor> OpenSharedMemory(int64_t gpu, const std::string& handle, int64_t bytes) override {
    if (gpu_ == nullptr) return absl::UnimplementedError("the models are not on a GPU");
    if (gpu != device_.index()) {
      return absl::InvalidArgumentError("the models are on GPU " + std::to_string(device_.index()) + ", not on " +
                                        std::to_string(gpu));
    }
    try {
      return gpu_->OpenSharedMemory(handle, bytes);
    } catch (const c10::Error& error) {
      return absl::InvalidArgumentError(error.what_without_backtrace());
    }
  }

  CompilerCounters compiler_counters() const override {
    if (!tiers_) return {};
    CompilerCounters counters;
    if (tiers_->kernels != nullptr) {
      const fuser::KernelCounters kernels = tiers_->kernels->counters();
      counters.kernels_made = kernels.made;
      counters.kernels_read = kernels.read;
      counters.kernels_failed = kernels.failed;
      counters.kernels_waiting = kernels.waiting;
    }
    if (tiers_->compiler != nullptr) {
      const BackgroundCompiler::Counters now = tiers_->compiler->counters();
      counters.queued = now.queued;
      counters.running = now.running;
      counters.done = now.done;
      counters.failed = now.failed;
      counters.cancelled = now.cancelled;
      counters.dropped = now.dropped + now.busy;
      counters.processor_seconds = now.processor_seconds;
    }
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
    run_options.memory = AccountOfLoad();
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
      return MakeModel(executor, std::move(imported), options, *run_options.memory, keeper_);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  // Where nothing is limited, the load is counted all the same.
  std::shared_ptr<MemoryAccount> AccountOfLoad() const {
    return MakeMemoryAccount(load_memory_limit_ > 0 ? load_memory_limit_ : std::numeric_limits<int64_t>::max() / 2);
  }

  // Ends on the thread for that, once the device has done what it was given.
  std::shared_ptr<ModelExecutor> Own(std::unique_ptr<ModelExecutor> executor) const {
    return disposal_.queue()->Own(std::unique_ptr<ModelExecutor, WhenIdle>(executor.release(), WhenIdle{device_}));
  }

  // `loading` is what the load, which ends with this, counted for.
  std::shared_ptr<Model> MakeModel(std::shared_ptr<ModelExecutor> executor, ImportedModule imported,
                                   const LoadOptions& options, const MemoryAccount& loading,
                                   std::shared_ptr<ProfileKeeper> keeper) {
    LoadedModel::Limits limits{options.memory_limit.value_or(memory_limit_), MemoryOfModel(options),
                               options.run_time_limit.value_or(run_time_limit_)};
    const auto code_bytes = static_cast<uint64_t>(std::max<int64_t>(loading.held(), 0));
    return disposal_.queue()->Own(std::make_unique<LoadedModel>(executor, pool_, std::move(imported), device_, streams_,
                                                                std::move(limits), code_bytes, *traffic_,
                                                                std::move(keeper)));
  }

  // What all calls of a model count for.
  std::shared_ptr<MemoryAccount> MemoryOfModel(const LoadOptions& options) const {
    const int64_t limit = options.memory_limit_of_model.value_or(memory_limit_of_model_);
    return limit > 0 ? MakeMemoryAccount(limit, memory_of_all_, MemoryLimitError::Of::kModel) : memory_of_all_;
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
    const std::shared_ptr<MemoryAccount> account = AccountOfLoad();
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
      return MakeModel(executor, std::move(imported), options, *account, nullptr);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  const c10::Device device_;
  const std::shared_ptr<Gpu> gpu_;  // null: models are on the CPU
  const std::shared_ptr<StreamPool> streams_;
  const int64_t memory_limit_;
  const int64_t memory_limit_of_model_;
  const std::shared_ptr<MemoryAccount> memory_of_all_;
  const std::chrono::nanoseconds run_time_limit_;
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
