// One version of a model that has been loaded. Requests hold it by shared pointer, so a version that was swapped out
// lives until its last request ends: that is how it drains. Immutable but for its counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/call_profiler.h"
#include "server/repository/client_files.h"
#include "server/repository/data_files.h"
#include "server/repository/ensemble_model.h"
#include "server/repository/labels.h"
#include "server/repository/live_calls.h"
#include "server/repository/memory_budget.h"
#include "server/repository/model_config.h"
#include "server/repository/observed_tensors.h"
#include "server/repository/queue_settings.h"
#include "server/telemetry/model_statistics.h"

namespace hearth::server {

// A call's arguments, checked; its tensors are on the CPU.
struct BoundArguments {
  Arguments args;
  KeywordArguments kwargs;
  int64_t batch_size = 1;
};

// What the layer that talks to clients derives from a model when it loads (the names and types of its tensors); it
// knows what is behind this.
class CallInterface {
 public:
  virtual ~CallInterface() = default;
  // The arguments of a call of forward with a sample of the configuration, which may name `files`. kInvalidArgument
  // where they cannot be the method's.
  virtual absl::StatusOr<BoundArguments> BindWarmup(const inference::ModelWarmup& sample,
                                                    const DataFiles& files) const = 0;
  // What to record calls in: `before`, of the version that this one takes the place of, if there is one and it was of
  // the same method, else a new one.
  virtual std::shared_ptr<ObservedCalls> ObservedAfter(std::shared_ptr<ObservedCalls> before) const = 0;
  // How calls are batched, as far as that depends on the archive: completes what the configuration says.
  virtual void CompleteQueueSettings(QueueSettings&) const {}
  // What is known of batches, for people; empty: calls are not batched.
  virtual std::string batching() const { return {}; }
};

// Derives it; an error fails the load. `initial_states` are the files that sequences begin with.
using CallInterfaceFactory = std::function<absl::StatusOr<std::unique_ptr<const CallInterface>>(
    const Model& model, const inference::ModelConfig& config, const DataFiles& initial_states)>;

struct Servable {
  std::string name;
  int64_t version = 0;
  inference::ModelConfig config;
  std::string archive_stamp;                          // FileStamp of what it was loaded from
  ClientFilesPtr files;                               // the same where that came with a load; null: a repository's
  std::shared_ptr<const MemoryBudget::Share> memory;  // that it holds; null: nobody counts it
  std::shared_ptr<Model> model;
  std::shared_ptr<EnsembleModel> ensemble;  // the same where it is made of other models; null where it is an archive's
  std::shared_ptr<const CallInterface> call_interface;
  Labels labels;
  QueueSettings queue_settings;
  // Both are shared with the versions of the same number before and after a reload.
  std::shared_ptr<ModelStatistics> statistics;
  std::shared_ptr<ObservedCalls> observed;
  uint64_t weight_bytes = 0;
  std::string note;  // in what it differs from the version that it took the place of (SignatureDifferences)
  // How far runs are trusted to be short (server/scheduling/trust.h), and requests to be quick with their answers.
  mutable std::atomic<int> short_runs{0};
  mutable std::atomic<int> quick_requests{0};
  mutable CallProfiler profiler;
  mutable LiveCalls live_calls;
  // Where its requests wait, made for the first one. The scheduler's.
  mutable std::once_flag queue_made;
  mutable std::shared_ptr<void> queue;
};

using ServablePtr = std::shared_ptr<const Servable>;

// A version with what its configuration says on a server with so many GPUs, and nothing of its model.
std::unique_ptr<Servable> NewServable(int64_t version, const inference::ModelConfig& config,
                                      const ModelSettings& settings, size_t num_gpus = 0);

// The same version with another configuration, which serves it alike (ServeAlike), and labels of its outputs: the model
// is shared.
ServablePtr WithConfig(const Servable& servable, inference::ModelConfig config, Labels labels);

}  // namespace hearth::server
