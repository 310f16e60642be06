// Repository's loads: from a folder to versions that serve.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <exception>
#include <future>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/support/background_thread.h"
#include "jit/support/cpu_allocator.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/file_stamp.h"
#include "server/repository/layout.h"
#include "server/repository/repository.h"
#include "server/repository/repository_log.h"
#include "server/repository/sequence_settings.h"
#include "server/repository/signature_difference.h"
#include "server/repository/version_policy.h"
#include "server/repository/warm_up.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// What the index says of a version that no repository has.
constexpr const char* kOfClientNote = "loaded from files that came with the load";

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// In what a version differs from the one in service, as it is logged; empty: in nothing.
std::string NoteDifferences(const Servable& before, const Servable& now) {
  const auto differences = SignatureDifferences(*before.model, before.config, *now.model, now.config);
  if (differences.empty()) return "";
  std::string note =
      absl::StrCat("differs from version ", before.version, " before it: ", absl::StrJoin(differences, "; "));
  RepositoryLog().warn("{} version {} {}", now.name, now.version, note);
  return note;
}

// An ensemble has no archive, so that it needs no folder for its only version.
std::vector<int64_t> VersionsOf(const fs::path& folder, const inference::ModelConfig& config) {
  std::vector<int64_t> versions = ListVersions(folder);
  if (versions.empty() && IsEnsemble(config)) versions.push_back(1);
  return versions;
}

// What `work` gives. In the background it runs on a thread of its own: this one, which takes locks that requests take
// too, keeps its priority.
template <typename Work>
auto AtPriority(bool in_background, const Work& work) {
  if (!in_background) return work();
  return std::async(std::launch::async,
                    [&] {
                      TakeLowPriority();
                      return work();
                    })
      .get();
}

}  // namespace

absl::Status Repository::LoadOrFail(const absl::StatusOr<fs::path>& folder, const std::string& name,
                                    const LoadRequest& request) try {
  return LoadFrom(folder, name, request);
} catch (const std::exception& error) {
  // No room for what is small, a folder that cannot be read: of this load alone.
  const absl::Status status = absl::InternalError(absl::StrCat("loading '", name, "': ", error.what()));
  FailModel(name, status);
  return status;
}

absl::Status Repository::LoadFrom(const absl::StatusOr<fs::path>& folder, const std::string& name,
                                  const LoadRequest& request) {
  absl::Status status;
  std::map<int64_t, absl::StatusOr<ServablePtr>> loaded;
  auto checked = [&]() -> absl::StatusOr<CheckedConfig> {
    if (!folder.ok()) return folder.status();
    return request.config.has_value() ? *request.config : ReadConfig(*folder);
  }();
  auto versions = checked.ok() ? ChooseVersions(checked->config.version_policy(), VersionsOf(*folder, checked->config))
                               : absl::StatusOr<std::vector<int64_t>>(checked.status());
  auto routing = checked.ok() ? RoutingOf(checked->config) : checked.status();
  if (versions.ok()) status = routing.ok() ? CheckRouting(*routing, *versions) : routing.status();
  if (!versions.ok() || !status.ok()) {
    if (status.ok()) status = versions.status();
    FailModel(name, status);
    return status;
  }
  for (const std::string& warning : checked->warnings) {
    RepositoryLog().warn("model {}: its configuration sets {}, which has no effect here", name, warning);
  }
  for (int64_t version : *versions) {
    models_.SetChosen(name, version);
    if (ServablePtr same = request.keep_unchanged ? Unchanged(*folder, version, checked->config) : nullptr) {
      loaded.emplace(version, std::move(same));
      continue;
    }
    auto servable = Compared(
        LoadVersion(*folder, request.files, version, checked->config, models_.StatisticsOf(name, version), PaceNow()),
        request.shadow);
    if (!servable.ok() && status.ok()) {
      status = absl::Status(servable.status().code(),
                            absl::StrCat("version ", version, " of '", name, "': ", servable.status().message()));
    }
    loaded.emplace(version, std::move(servable));
  }
  models_.Swap(name, *std::move(routing), loaded, "");
  return status;
}

absl::StatusOr<Labels> Repository::LabelsOf(const fs::path& folder, const inference::ModelConfig& config) const {
  return ReadLabels(folder, config, [this](const fs::path& path) { return Resolve(path); });
}

DataFiles Repository::FilesIn(const fs::path& model, const char* folder) const {
  return {model, folder, [this](const fs::path& path) { return Resolve(path); }};
}

ServablePtr Repository::Unchanged(const fs::path& folder, int64_t version, const inference::ModelConfig& config) const {
  // They may have changed, too.
  if (HasInitialStateFiles(config)) return nullptr;
  const ServablePtr serving = models_.ServingVersion(config.name(), version);
  if (serving == nullptr ||
      serving->archive_stamp != FileStamp(ArchivePath(folder, version, config.default_model_filename())))
    return nullptr;
  auto labels = LabelsOf(folder, config);
  if (!labels.ok()) return nullptr;  // a load says what is wrong with them
  const bool is_same_config = google::protobuf::util::MessageDifferencer::Equals(serving->config, config);
  if (is_same_config && *labels == serving->labels) return serving;
  return is_same_config || ServeAlike(serving->config, config) ? WithConfig(*serving, config, *std::move(labels))
                                                               : nullptr;
}

absl::StatusOr<ServablePtr> Repository::Compared(absl::StatusOr<std::shared_ptr<Servable>> loaded,
                                                 const ShadowOverrides& asked) {
  if (!loaded.ok()) return loaded.status();
  Servable& version = **loaded;
  const auto settings = ShadowSettingsOf(version.config, asked);
  if (!settings.ok()) return settings.status();
  const ServablePtr before = models_.PredecessorOf(version.name, version.version);
  if (settings->requests == 0 || before == nullptr) return *std::move(loaded);
  auto note = CompareOnLiveRequests(*before, version, *settings, options_.load_memory_limit, stop_.get_token());
  if (!note.ok()) {
    *loaded = nullptr;
    ReturnFreedMemory();
    return stop_.stop_requested() ? ShuttingDown() : note.status();
  }
  if (!version.note.empty()) version.note += "; ";
  version.note += *note;
  return *std::move(loaded);
}

absl::StatusOr<LoadOptions> Repository::OptionsOf(const fs::path& folder, const ClientFilesPtr& files,
                                                  const ModelSettings& settings, const inference::ModelConfig& config,
                                                  const std::string& what) const {
  LoadOptions options;
  options.stop = stop_.get_token();
  options.memory_limit = settings.memory_limit;
  options.memory_limit_of_model = settings.requests_memory_limit;
  if (settings.max_run_seconds) {
    options.run_time_limit =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*settings.max_run_seconds));
  }
  options.compile_after = settings.compile_after;
  options.exact_after = settings.exact_after;
  options.max_plans = settings.max_plans;
  options.plan_bytes = settings.plan_bytes;
  options.gpus = GpusOf(config);
  if (!options.gpus.empty() && runtime_.gpus().empty()) {
    RepositoryLog().warn("{}: instance_group.gpus is ignored: this server's models are on the CPU", what);
    options.gpus.clear();
  }
  for (const std::string& library : config.model_operations().op_library_filename()) {
    if (!options_.model_operator_libraries) {
      RepositoryLog().warn("{}: its operator library {} is not loaded: the setting model_operator_libraries is off",
                           what, library);
      continue;
    }
    if (files != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("its configuration names the operator library '", library,
                       "'; libraries are loaded from the repository alone, and its files came with the load"));
    }
    const auto file = Resolve(folder / library);
    if (!file.ok()) return file.status();
    options.operator_libraries.push_back(fs::absolute(*file).string());
  }
  return options;
}

MemoryUse Repository::EstimateOf(uint64_t archive_bytes, const LoadOptions& options) const {
  MemoryUse use;
  for (const int gpu : options.gpus.empty() ? runtime_.gpus() : options.gpus) use.gpus[gpu] = archive_bytes;
  if (use.gpus.empty()) use.host = archive_bytes;
  return use;
}

absl::StatusOr<std::shared_ptr<Servable>> Repository::LoadVersion(const fs::path& folder, const ClientFilesPtr& files,
                                                                  int64_t version, const inference::ModelConfig& config,
                                                                  std::shared_ptr<ModelStatistics> statistics,
                                                                  Pace pace) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path named_archive = ArchivePath(folder, version, config.default_model_filename());
  // Before it is read: what is written into it from now on is another stamp.
  std::string stamp = FileStamp(named_archive);
  const std::string what = absl::StrCat(config.name(), " version ", version);
  auto fail = [&](const absl::Status& status) {
    if (stop_.stop_requested()) {
      RepositoryLog().info("{} is not loaded any further: the server is shutting down", what);
      return ShuttingDown();
    }
    // Each request for an idle model may find no room: that says who asks, and nothing was loaded.
    const bool no_room = MemoryBudget::IsNoRoom(status);
    if (no_room && models_.FindIdle(config.name())) return status;
    RepositoryLog().error("{} failed to load: {}", what, std::string(status.message()));
    if (!no_room) ReturnFreedMemory();
    return status;
  };
  if (stop_.stop_requested()) return fail(ShuttingDown());
  if (IsEnsemble(config)) {
    auto ensemble = LoadEnsemble(folder, version, config, std::move(stamp), std::move(statistics));
    if (!ensemble.ok()) return fail(ensemble.status());
    (*ensemble)->files = files;
    return ensemble;
  }
  std::error_code error;
  if (!fs::is_regular_file(named_archive, error)) {
    return fail(absl::NotFoundError(absl::StrCat("there is no file ", named_archive.string())));
  }
  const auto archive = Resolve(named_archive);
  if (!archive.ok()) return fail(archive.status());
  const auto settings = SettingsOf(config);
  if (!settings.ok()) return fail(settings.status());
  auto labels = LabelsOf(folder, config);
  if (!labels.ok()) return fail(labels.status());
  const bool in_background = pace == Pace::kBackground;
  auto load_options = OptionsOf(folder, files, *settings, config, what);
  if (!load_options.ok()) return fail(load_options.status());
  load_options->in_background = in_background;
  const uint64_t file_bytes = fs::file_size(*archive, error);
  if (error) return fail(absl::FailedPreconditionError(absl::StrCat(archive->string(), ": ", error.message())));
  MemoryUse estimate = EstimateOf(file_bytes, *load_options);
  estimate.RaiseTo(models_.MeasuredBefore(config.name(), version, stamp));
  auto memory = TakeMemory(config.name(), version, estimate);
  if (!memory.ok()) return fail(memory.status());
  ++loads_with_memory_;
  const absl::Cleanup ended = [this] { --loads_with_memory_; };
  RepositoryLog().info("loading {} from {}", what, named_archive.string());
  const ServablePtr predecessor = models_.PredecessorOf(config.name(), version);
  if (predecessor != nullptr) load_options->predecessor = predecessor->model;
  auto model = runtime_.Load(archive->string(), *load_options);
  load_options->predecessor = nullptr;
  if (!model.ok()) return fail(model.status());
  auto call_interface =
      AtPriority(in_background, [&] { return factory_(**model, config, FilesIn(folder, kInitialStateFolder)); });
  if (!call_interface.ok()) return fail(call_interface.status());

  auto servable = NewServable(version, config, *settings, runtime_.gpus().size());
  servable->archive_stamp = std::move(stamp);
  servable->files = files;
  servable->memory = *memory;
  servable->model = *std::move(model);
  servable->call_interface = *std::move(call_interface);
  if (config.has_sequence_batching() && servable->queue_settings.batches()) {
    const auto effect = servable->model->SideEffect("forward");
    if (effect.ok() && !effect->empty()) {
      RepositoryLog().info("{}: requests of its sequences are not run together: forward {}", what, *effect);
      servable->queue_settings.max_rows = 1;
    }
  }
  servable->call_interface->CompleteQueueSettings(servable->queue_settings);
  if (const std::string batching = servable->call_interface->batching(); !batching.empty())
    RepositoryLog().info("{}: batches of its requests: {}", what, batching);
  servable->labels = *std::move(labels);
  servable->statistics = std::move(statistics);
  servable->observed = servable->call_interface->ObservedAfter(models_.ObservedBefore(config.name(), version));
  servable->weight_bytes = servable->model->weight_bytes();
  if (files != nullptr) servable->note = kOfClientNote;
  if (predecessor != nullptr) {
    const std::string differences = NoteDifferences(*predecessor, *servable);
    if (!servable->note.empty() && !differences.empty()) servable->note += "; ";
    servable->note += differences;
  }
  std::vector<FrequentCall> frequent;
  if (predecessor != nullptr && options_.warm_live_shapes) {
    frequent = predecessor->model->frequent_calls(kMostFrequentCalls);
  }
  const auto warm_up_start = std::chrono::steady_clock::now();
  const DataFiles warmup_files = FilesIn(folder, kWarmupFolder);
  const WarmUpLimits limits{options_.warmup_time, options_.load_memory_limit, stop_.get_token(), in_background};
  const absl::Status warm =
      AtPriority(in_background, [&] { return WarmUp(*servable, warmup_files, frequent, limits); });
  if (!warm.ok()) return fail(warm);
  if (absl::Status fits = SettleMemory(**memory, *servable); !fits.ok()) return fail(fits);
  const auto end = std::chrono::steady_clock::now();
  servable->statistics->Loaded(end - start, end - warm_up_start);
  RepositoryLog().info("{} is loaded: {:.1f} MB of weights, {:.3f} s", what, double(servable->weight_bytes) / 1e6,
                       SecondsSince(start));
  return servable;
}

}  // namespace hearth::server
