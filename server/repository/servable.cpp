#include "server/repository/servable.h"

#include <utility>

namespace hearth::server {

ServablePtr WithConfig(const Servable& servable, inference::ModelConfig config) {
  auto copy = std::make_shared<Servable>();
  copy->name = servable.name;
  copy->version = servable.version;
  copy->config = std::move(config);
  copy->archive_stamp = servable.archive_stamp;
  copy->memory = servable.memory;
  copy->model = servable.model;
  copy->call_interface = servable.call_interface;
  copy->labels = servable.labels;
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
