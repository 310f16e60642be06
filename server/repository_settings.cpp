#include "server/repository_settings.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "jit/support/text.h"
#include "server/api/signature.h"
#include "server/ensembles/ensemble_schema.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/queue_settings.h"
#include "server/scheduling/batch_values.h"

namespace hearth::server {
namespace {

// It names files and operators of the archive.
constexpr size_t kMostBatchingText = 1024;

absl::StatusOr<std::unique_ptr<const CallInterface>> MakeSignature(const Model& model,
                                                                   const inference::ModelConfig& config,
                                                                   const DataFiles& initial_states) {
  const c10::FunctionSchema* schema = model.FindMethod("forward");
  if (schema == nullptr) return absl::InvalidArgumentError("the archive's module has no method 'forward'");
  const absl::StatusOr<inference::ModelConfig> edge =
      IsEnsemble(config) ? EdgeConfig(config) : absl::StatusOr<inference::ModelConfig>(config);
  if (!edge.ok()) return edge.status();
  auto signature = Signature::Create(*schema, *edge);
  if (!signature.ok()) return signature.status();
  if (absl::Status status = (*signature)->ReadInitialStates(initial_states); !status.ok()) return status;
  const QueueSettings settings = QueueSettingsOf(config);
  bool run_together = settings.batches();
  if (config.has_sequence_batching()) {
    std::vector<std::string> states;
    for (const auto& state : config.sequence_batching().state()) states.push_back(state.output_name());
    if (absl::Status status = (*signature)->CheckRequested(states); !status.ok()) return status;
    // The repository has such a model's requests run one by one.
    const absl::StatusOr<std::string> effect = model.SideEffect("forward");
    run_together &= !effect.ok() || effect->empty();
  }
  if (run_together) {
    auto batching = CheckBatches(model, *schema, (*signature)->BatchArguments());
    if (!batching.ok()) return batching.status();
    if (absl::Status status = (*signature)->ResolvePadding(settings.padding); !status.ok()) return status;
    (*signature)->set_batching(ForLog(*batching, kMostBatchingText));
  }
  return std::unique_ptr<const CallInterface>(*std::move(signature));
}

}  // namespace

ModelControl ControlOf(const config::Settings& settings) {
  const std::string& mode = settings.model_control_mode();
  if (mode == "none") return ModelControl::kNone;
  if (mode == "poll") return ModelControl::kPoll;
  return mode == "explicit" ? ModelControl::kExplicit : ModelControl::kAll;
}

absl::StatusOr<std::unique_ptr<Mirrors>> MirrorsOf(const config::Settings& settings) {
  std::filesystem::path folder = settings.mirror_dir();
  if (folder.empty() && !settings.cache_dir().empty()) folder = std::filesystem::path(settings.cache_dir()) / "mirrors";
  return Mirrors::Open({settings.model_repository().begin(), settings.model_repository().end()}, folder);
}

absl::StatusOr<std::shared_ptr<ClientFilesStore>> ClientFilesOf(const config::Settings& settings) {
  std::error_code error;
  std::filesystem::path within = settings.cache_dir();
  if (within.empty()) within = std::filesystem::temp_directory_path(error);
  ClientFilesStore::RemoveAbandoned(within);
  if (settings.client_files_bytes() == 0) return nullptr;
  return ClientFilesStore::Open(within, settings.client_files_bytes());
}

Repository::Options RepositoryOptionsOf(const config::Settings& settings, Mirrors& mirrors) {
  std::function<absl::Status(const std::string&, const std::stop_token&)> fetch;
  if (!mirrors.empty()) {
    fetch = [&mirrors](const std::string& model, const std::stop_token& stop) { return mirrors.Fetch(model, stop); };
  }
  return {.roots = mirrors.roots(),
          .fetch = std::move(fetch),
          .load_threads = settings.load_threads(),
          .model_operator_libraries = settings.model_operator_libraries(),
          .links_may_lead_out = settings.links_lead_out(),
          .warmup_time = std::chrono::duration<double>(settings.warmup_seconds()),
          .warm_live_shapes = settings.warm_live_shapes(),
          .load_memory_limit = settings.load_memory_limit(),
          .control = ControlOf(settings),
          .load_models = {settings.load_model().begin(), settings.load_model().end()},
          .memory_budget = {.host = static_cast<uint64_t>(settings.model_memory_bytes()),
                            .each_gpu = static_cast<uint64_t>(settings.model_gpu_memory_bytes())},
          .unload_idle_models = settings.unload_idle_models()};
}

CallInterfaceFactory SignatureFactory() { return MakeSignature; }

EnsembleEnvironment EnsemblesOn(const config::Settings& settings, Runtime& runtime, Repository& repository,
                                Dispatcher& dispatcher, AlarmClock& alarms) {
  return {.repository = repository,
          .dispatcher = dispatcher,
          .alarms = alarms,
          .post = [&runtime](std::function<void()> work) { runtime.Post(std::move(work)); },
          .memory_of_all = runtime.memory_of_all(),
          .memory_limit = settings.memory_limit(),
          .memory_limit_of_model = settings.model_memory_limit()};
}

}  // namespace hearth::server
