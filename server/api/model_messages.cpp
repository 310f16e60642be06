#include "server/api/model_messages.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

using Json = nlohmann::ordered_json;

void Describe(const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata* out) {
  out->set_name(spec.name);
  out->set_datatype(spec.datatype->name);
  out->mutable_shape()->Add(spec.shape->begin(), spec.shape->end());
}

// The tensor as a configuration has it.
template <typename Tensor>
void Describe(const TensorSpec& spec, bool batched, Tensor& out) {
  out.set_name(spec.name);
  out.set_data_type(spec.datatype->config);
  const size_t first = batched && !spec.shape->empty() ? 1 : 0;
  out.mutable_dims()->Add(spec.shape->begin() + first, spec.shape->end());
}

std::vector<TensorSpec> InputsOf(const Servable& servable) {
  return SignatureOf(servable).inputs(&servable.observed->inputs);
}

std::vector<TensorSpec> OutputsOf(const Servable& servable) {
  return SignatureOf(servable).outputs(&servable.observed->outputs);
}

void Describe(const Duration& duration, inference::StatisticDuration* out) {
  out->set_count(duration.count);
  out->set_ns(duration.ns);
}

}  // namespace

inference::ModelMetadataResponse DescribeModel(const Servable& servable, const std::vector<int64_t>& versions) {
  inference::ModelMetadataResponse response;
  response.set_name(servable.name);
  for (int64_t version : versions) response.add_versions(std::to_string(version));
  response.set_platform(servable.config.platform());
  for (const TensorSpec& spec : InputsOf(servable)) Describe(spec, response.add_inputs());
  for (const TensorSpec& spec : OutputsOf(servable)) Describe(spec, response.add_outputs());
  return response;
}

inference::ModelConfig DescribeConfig(const Servable& servable) {
  inference::ModelConfig config = servable.config;
  Json observed = Json::object(), assumed = Json::object();
  const auto note = [&](const char* direction, const TensorSpec& spec) {
    if (spec.source == TensorSpec::Source::kObserved) observed[direction].push_back(spec.name);
    if (spec.source == TensorSpec::Source::kAssumed) assumed[direction].push_back(spec.name);
  };
  // With a batch dimension, dims are what follows it, which only a configuration can tell.
  if (config.input().empty()) {
    for (const TensorSpec& spec : InputsOf(servable)) {
      Describe(spec, config.max_batch_size() > 0, *config.add_input());
      config.mutable_input()->rbegin()->set_optional(spec.optional);
      note("inputs", spec);
    }
  }
  if (config.output().empty()) {
    for (const TensorSpec& spec : OutputsOf(servable)) {
      Describe(spec, config.max_batch_size() > 0, *config.add_output());
      note("outputs", spec);
    }
  }
  const auto set = [&](const char* name, const Json& json) {
    if (json.empty()) return;
    // Names are keys of dicts, which clients choose.
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    (*config.mutable_parameters())[name].set_string_value(text);
  };
  set(kObservedParameter, observed);
  set(kAssumedParameter, assumed);
  return config;
}

inference::ModelStatistics DescribeStatistics(const Servable& servable) {
  const StatisticsSnapshot now = servable.statistics->snapshot();
  inference::ModelStatistics out;
  out.set_name(servable.name);
  out.set_version(std::to_string(servable.version));
  out.set_last_inference(now.last_inference_ms);
  out.set_inference_count(now.inference_count);
  out.set_execution_count(now.execution_count);
  inference::InferStatistics& inference_stats = *out.mutable_inference_stats();
  Describe(now.success, inference_stats.mutable_success());
  Describe(now.failure, inference_stats.mutable_fail());
  Describe(now.queue, inference_stats.mutable_queue());
  Describe(now.compute_input, inference_stats.mutable_compute_input());
  Describe(now.compute_infer, inference_stats.mutable_compute_infer());
  Describe(now.compute_output, inference_stats.mutable_compute_output());
  Describe(now.cache_hit, inference_stats.mutable_cache_hit());
  Describe(now.cache_miss, inference_stats.mutable_cache_miss());
  for (const auto& [size, batch] : now.batches) {
    inference::InferBatchStatistics* described = out.add_batch_stats();
    described->set_batch_size(size);
    Describe(batch.compute_input, described->mutable_compute_input());
    Describe(batch.compute_infer, described->mutable_compute_infer());
    Describe(batch.compute_output, described->mutable_compute_output());
  }
  return out;
}

}  // namespace hearth::server
