#include "server/repository/servable.h"

#include <utility>

namespace hearth::server {

std::unique_ptr<Servable> NewServable(int64_t version, const inference::ModelConfig& config,
                                      const ModelSettings& settings, size_t num_gpus) {
  auto servable = std::make_unique<Servable>();
  servable->name = config.name();
  servable->version = version;
  servable->config = config;
  servable->queue_settings = QueueSettingsOf(config, num_gpus);
  if (settings.max_running) servable->queue_settings.LimitRuns(*settings.max_running);
  if (settings.max_queue_milliseconds) {
    servable->queue_settings.longest_wait = std::chrono::milliseconds(*settings.max_queue_milliseconds);
  }
  return servable;
}

ServablePtr WithConfig(const Servable& servable, inference::ModelConfig config, Labels labels) {
  auto copy = std::make_shared<Servable>();
  copy->name = servable.name;
  copy->version = servable.version;
  copy->config = std::move(config);
  copy->archive_stamp = servable.archive_stamp;
  copy->files = servable.files;
  copy->memory = servable.memory;
  copy->model = servable.model;
  copy->ensemble = servable.ensemble;
  copy->call_interface = servable.call_interface;
  copy->labels = std::move(labels);
  copy->queue_settings = servable.queue_settings;
  copy->statistics = servable.statistics;
  copy->observed = servable.observed;
  copy->weight_bytes = servable.weight_bytes;
  copy->note = servable.note;
  copy->short_runs = servable.short_runs.load();
  copy->quick_requests = servable.quick_requests.load();
  return copy;
}

}  // namespace hearth::server
