#include "jit/runtime.h"

#include <c10/core/DeviceGuard.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <utility>

#include "jit/archive/importer.h"
#include "jit/archive/mapping.h"
#include "jit/archive/saved_value.h"
#include "jit/device/device.h"
#include "jit/device/stream.h"
#include "jit/device_parts.h"
#include "jit/executor/code_builder.h"
#include "jit/executor/model_executor.h"
#include "jit/executor/traffic.h"
#include "jit/frontend/builtin_functions.h"
#include "jit/frontend/source_importer.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/loaded_model.h"
#include "jit/operators/library.h"
#include "jit/profile_store/profile_keeper.h"
#include "jit/spread_model.h"
#include "jit/status_of.h"
#include "jit/support/background_thread.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/disposal_thread.h"
#include "jit/support/large_stack.h"
#include "jit/support/load_budget.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"
#include "jit/support/operator_threads.h"

namespace hearth {
namespace {

// Deletes what a device's last work may still use.
struct WhenIdle {
  std::shared_ptr<const DeviceParts> on;
  void operator()(ModelExecutor* executor) const {
    try {
      WaitForDevice(on->device);
    } catch (const std::exception&) {
      // Told already to the request whose work it was.
    }
    // A GPU that has failed cannot give anything back, and says so by exceptions; the process is about to end.
    if (on->failed()) return;
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

// What devices that are literals in a model's code become.
std::optional<c10::Device> LiteralDevice(c10::Device device) {
  return device.is_cpu() ? std::nullopt : std::optional(device);
}

// "GPU 0", "GPUs 0, 1 and 2".
std::string TextOfGpus(const std::vector<int>& gpus) {
  std::string text = gpus.size() == 1 ? "GPU " : "GPUs ";
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (i > 0) text += i + 1 == gpus.size() ? " and " : ", ";
    text += std::to_string(gpus[i]);
  }
  return text;
}

// Null where nothing is kept.
std::shared_ptr<ProfileKeeper> MakeKeeper(const CompilerOptions& options) {
  if (options.tier != Tier::kAuto || options.cache_dir.empty()) return nullptr;
  return std::make_shared<ProfileKeeper>(options.cache_dir, options.cache_interval);
}

// Those that a model may be, copy by copy.
std::vector<const LoadedModel*> CopiesOf(const Model* model) {
  if (const auto* single = dynamic_cast<const LoadedModel*>(model)) return {single};
  std::vector<const LoadedModel*> copies;
  if (const auto* spread = dynamic_cast<const SpreadModel*>(model)) {
    for (const SpreadModel::Copy& copy : spread->copies()) {
      if (const auto* single = dynamic_cast<const LoadedModel*>(copy.model.get())) copies.push_back(single);
    }
  }
  return copies;
}

class RuntimeImpl final : public Runtime {
 public:
  RuntimeImpl(const std::vector<c10::Device>& devices, const RuntimeOptions& options)
      : memory_limit_(options.memory_limit),
        memory_limit_of_model_(options.memory_limit_of_model),
        memory_of_all_(MakeMemoryAccount(options.memory_limit_of_all)),
        run_time_limit_(options.run_time_limit),
        load_memory_limit_(options.load_memory_limit),
        load_time_limit_(options.load_time_limit),
        parts_(MakeDeviceParts(devices, options, traffic_, disposal_.queue())),
        pool_(options.threads, options.operator_threads),
        background_(options.background_threads, 0, ThreadPool::Priority::kLow),
        keeper_(MakeKeeper(options.compiler)) {
    // Beside whatever the caller does before its first archive needs it.
    pool_.Post([] { PrepareBuiltinFunctions(); });
  }

  ~RuntimeImpl() override {
    for (const auto& parts : parts_) {
      if (parts->tiers && parts->tiers->shadow != nullptr) parts->tiers->shadow->Close();
    }
  }

  absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& path, const LoadOptions& options) override {
    return LoadOnDevices(path, options, [&](const Place& place) { return LoadHere(path, options, place); });
  }

  absl::StatusOr<std::shared_ptr<Model>> LoadSource(const std::string& path, const LoadOptions& options) override {
    return LoadOnDevices(path, options, [&](const Place& place) { return LoadSourceHere(path, options, place); });
  }

  MemoryAccount* memory_of_all() const override { return memory_of_all_.get(); }
  void Post(std::function<void()> work) override { pool_.Post(std::move(work)); }

  std::vector<int> gpus() const override {
    std::vector<int> gpus;
    for (const auto& parts : parts_) {
      if (parts->gpu != nullptr) gpus.push_back(parts->device.index());
    }
    return gpus;
  }
  absl::StatusOr<at::Tensor> OpenSharedMemory(int64_t gpu, const std::string& handle, int64_t bytes) override {
    if (gpus().empty()) return absl::UnimplementedError("the models are not on a GPU");
    const auto found = std::ranges::find_if(parts_, [&](const auto& parts) { return parts->device.index() == gpu; });
    if (found == parts_.end()) {
      return absl::InvalidArgumentError("the models are on " + TextOfGpus(gpus()) + ", not on GPU " +
                                        std::to_string(gpu));
    }
    if ((*found)->failed()) return absl::UnavailableError((*found)->health->what());
    try {
      return (*found)->gpu->OpenSharedMemory(handle, bytes);
    } catch (const c10::Error& error) {
      return absl::InvalidArgumentError(error.what_without_backtrace());
    }
  }

  CompilerCounters compiler_counters() const override { return CountersOf(parts_); }

 private:
  using Parts = std::shared_ptr<const DeviceParts>;
  using Loaded = absl::StatusOr<std::shared_ptr<LoadedModel>>;

  // Of one copy of a model.
  struct Place {
    Parts on;
    std::shared_ptr<MemoryAccount> memory_of_model;  // what the calls of all copies count for
    bool is_first = true;                            // who is asked what the archive has
  };

  // Loads a copy of the model onto each of its devices. The first one tells whether there may be others.
  absl::StatusOr<std::shared_ptr<Model>> LoadOnDevices(const std::string& path, const LoadOptions& options,
                                                       const std::function<Loaded(const Place&)>& load) {
    const auto devices = DevicesFor(options);
    if (!devices.ok()) return devices.status();
    const auto memory = MemoryOfModel(options);
    std::vector<Loaded> copies(devices->size(), absl::UnknownError("not loaded"));
    // What runs while a model loads may nest values as deeply as what runs later.
    const auto start = [&](size_t i) {
      return std::make_unique<LargeStackThread>([&, i] {
        pthread_setname_np(pthread_self(), "hearth-load");
        if (options.in_background) TakeLowPriority();
        copies[i] = LoadAt({(*devices)[i], memory, i == 0}, load);
      });
    };
    start(0).reset();
    if (!copies.front().ok() || copies.size() == 1) return copies.front();
    if (const std::string why = (*copies.front())->WhyNotSpread(); !why.empty()) {
      if (!options.gpus.empty()) {
        return absl::InvalidArgumentError("the model cannot be on " + TextOfGpus(options.gpus) + " at once: " + why);
      }
      LoggerOf("runtime").info("{} is on {} alone: {}", path, devices->front()->device.str(), why);
      return copies.front();
    }
    {
      std::vector<std::unique_ptr<LargeStackThread>> threads;
      for (size_t i = 1; i < copies.size(); ++i) threads.push_back(start(i));
    }
    std::vector<SpreadModel::Copy> spread;
    for (size_t i = 0; i < copies.size(); ++i) {
      if (!copies[i].ok()) return copies[i].status();
      spread.push_back({*copies[i], (*devices)[i]->device, (*devices)[i]->health});
    }
    return std::make_shared<SpreadModel>(std::move(spread));
  }

  static Loaded LoadAt(const Place& place, const std::function<Loaded(const Place&)>& load) {
    DeviceHealth* const health = place.on->health.get();
    if (place.on->failed()) return absl::UnavailableError(health->what());
    // Where "cuda" without a number is, for code that runs while the model loads.
    const c10::OptionalDeviceGuard guard(LiteralDevice(place.on->device));
    Loaded loaded = load(place);
    if (absl::IsInternal(loaded.status()) && health != nullptr &&
        health->Examine(std::string(loaded.status().message())) != DeviceHealth::Finding::kSound) {
      return absl::UnavailableError(health->what());
    }
    return loaded;
  }

  // Where the model's copies are to be. The first one is that of a model that has no other: where its predecessor is,
  // so that plans are asked for at once, else on each device in turn.
  absl::StatusOr<std::vector<Parts>> DevicesFor(const LoadOptions& options) {
    std::vector<Parts> devices;
    for (const int gpu : options.gpus) {
      const auto found = std::ranges::find_if(
          parts_, [&](const Parts& parts) { return parts->gpu != nullptr && parts->device.index() == gpu; });
      if (found == parts_.end()) {
        return absl::InvalidArgumentError("GPU " + std::to_string(gpu) + " is not the server's, which " +
                                          (gpus().empty() ? "has none" : "has " + TextOfGpus(gpus())));
      }
      if (std::ranges::find(devices, *found) == devices.end()) devices.push_back(*found);
    }
    if (devices.empty()) devices = parts_;
    auto first = devices.begin() + static_cast<int64_t>(next_device_.fetch_add(1) % devices.size());
    if (const std::vector<const LoadedModel*> before = CopiesOf(options.predecessor.get()); before.size() == 1) {
      const auto same = std::ranges::find(devices, before.front()->device(), &DeviceParts::device);
      if (same != devices.end()) first = same;
    }
    std::rotate(devices.begin(), first, devices.end());
    return devices;
  }

  Loaded LoadHere(const std::string& path, const LoadOptions& options, const Place& place) {
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
      const c10::Device device = place.on->device;
      const std::optional<c10::Device> redirect = LiteralDevice(device);
      ImportOptions import_options;
      import_options.device = device;
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
      const std::shared_ptr<ModelExecutor> executor =
          Own(std::make_unique<ModelExecutor>(imported.unit, imported.object, *builder, generators_, &pool_,
                                              TierSettingsOf(options, place.on->tiers)),
              place.on);
      if (const auto stream = DefaultStream(device)) stream->synchronize();
      TakeProfiles(options, *executor, device);
      if (keeper_ != nullptr) keeper_->Adopt(executor, *imported.archive, device);
      // The weights are on the device: nothing else of the file's bytes is needed.
      if (!place.is_first) imported.archive = nullptr;
      return MakeModel(executor, std::move(imported), options, *run_options.memory, keeper_, place);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  // Where nothing is limited, the load is counted all the same.
  std::shared_ptr<MemoryAccount> AccountOfLoad() const {
    return MakeMemoryAccount(load_memory_limit_ > 0 ? load_memory_limit_ : std::numeric_limits<int64_t>::max() / 2);
  }

  // Ends on the thread for that, once the device has done what it was given.
  std::shared_ptr<ModelExecutor> Own(std::unique_ptr<ModelExecutor> executor, const Parts& on) const {
    return disposal_.queue()->Own(std::unique_ptr<ModelExecutor, WhenIdle>(executor.release(), WhenIdle{on}));
  }

  // `loading` is what the load, which ends with this, counted for.
  std::shared_ptr<LoadedModel> MakeModel(std::shared_ptr<ModelExecutor> executor, ImportedModule imported,
                                         const LoadOptions& options, const MemoryAccount& loading,
                                         std::shared_ptr<ProfileKeeper> keeper, const Place& place) {
    LoadedModel::Limits limits{options.memory_limit.value_or(memory_limit_), place.memory_of_model,
                               options.run_time_limit.value_or(run_time_limit_)};
    const auto code_bytes = static_cast<uint64_t>(std::max<int64_t>(loading.held(), 0));
    return disposal_.queue()->Own(std::make_unique<LoadedModel>(executor, pool_, background_, std::move(imported),
                                                                place.on, std::move(limits), code_bytes, *traffic_,
                                                                std::move(keeper)));
  }

  // What all calls of a model count for.
  std::shared_ptr<MemoryAccount> MemoryOfModel(const LoadOptions& options) const {
    const int64_t limit = options.memory_limit_of_model.value_or(memory_limit_of_model_);
    return limit > 0 ? MakeMemoryAccount(limit, memory_of_all_, MemoryLimitError::Of::kModel) : memory_of_all_;
  }

  // Asks for plans for what the model's predecessor is called with on the same device.
  static void TakeProfiles(const LoadOptions& options, const ModelExecutor& successor, c10::Device device) {
    for (const LoadedModel* copy : CopiesOf(options.predecessor.get())) {
      if (copy->device() == device) copy->TransferProfilesTo(successor);
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

  Loaded LoadSourceHere(const std::string& path, const LoadOptions& options, const Place& place) {
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
      CodeBuilder builder(*imported.unit, LiteralDevice(place.on->device));
      const std::shared_ptr<ModelExecutor> executor =
          Own(std::make_unique<ModelExecutor>(imported.unit, functions, builder, &pool_,
                                              TierSettingsOf(options, place.on->tiers)),
              place.on);
      TakeProfiles(options, *executor, place.on->device);
      return MakeModel(executor, std::move(imported), options, *account, nullptr, place);
    } catch (...) {
      return StatusOfLoad(budget, std::current_exception());
    }
  }

  const int64_t memory_limit_;
  const int64_t memory_limit_of_model_;
  const std::shared_ptr<MemoryAccount> memory_of_all_;
  const std::chrono::nanoseconds run_time_limit_;
  const int64_t load_memory_limit_;
  const std::chrono::nanoseconds load_time_limit_;
  const std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  const DisposalThread disposal_;   // ends after the pool, whose calls may be the last to hold a model
  const std::vector<Parts> parts_;  // at least one
  std::atomic<size_t> next_device_{0};
  const std::shared_ptr<TurnList> generators_ = std::make_shared<TurnList>();  // which runs may draw and seed when
  ThreadPool pool_;
  ThreadPool background_;                        // for runs that give way to those
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
    return std::make_unique<RuntimeImpl>(OpenDevices(options.device), options);
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
