#include "server/repository_settings.h"

#include <memory>
#include <utility>

#include "jit/support/text.h"
#include "server/api/signature.h"
#include "server/repository/queue_settings.h"
#include "server/scheduling/batch_values.h"

namespace hearth::server {
namespace {

// It names files and operators of the archive.
constexpr size_t kMostBatchingText = 1024;

absl::StatusOr<std::unique_ptr<const CallInterface>> MakeSignature(const Model& model,
                                                                   const inference::ModelConfig& config) {
  const c10::FunctionSchema* schema = model.FindMethod("forward");
  if (schema == nullptr) return absl::InvalidArgumentError("the archive's module has no method 'forward'");
  auto signature = Signature::Create(*schema, config);
  if (!signature.ok()) return signature.status();
  if (const QueueSettings settings = QueueSettingsOf(config); settings.batches()) {
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

Repository::Options RepositoryOptionsOf(const config::Settings& settings) {
  return {.roots = {settings.model_repository().begin(), settings.model_repository().end()},
          .load_threads = settings.load_threads(),
          .model_operator_libraries = settings.model_operator_libraries(),
          .links_may_lead_out = settings.links_lead_out(),
          .warmup_time = std::chrono::duration<double>(settings.warmup_seconds()),
          .warm_live_shapes = settings.warm_live_shapes(),
          .load_memory_limit = settings.load_memory_limit(),
          .control = ControlOf(settings),
          .load_models = {settings.load_model().begin(), settings.load_model().end()},
          .memory_budget = static_cast<uint64_t>(settings.model_memory_bytes()),
          .unload_idle_models = settings.unload_idle_models()};
}

CallInterfaceFactory SignatureFactory() { return MakeSignature; }

}  // namespace hearth::server
