#include "server/api/model_messages.h"

#include "server/repository/model_config.h"

namespace hearth::server {
namespace {

void Describe(const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata* out) {
  out->set_name(spec.name);
  if (spec.datatype != nullptr) out->set_datatype(spec.datatype->name);
  if (spec.shape.has_value()) out->mutable_shape()->Add(spec.shape->begin(), spec.shape->end());
}

void Describe(const Duration& duration, inference::StatisticDuration* out) {
  out->set_count(duration.count);
  out->set_ns(duration.ns);
}

}  // namespace

inference::ModelMetadataResponse DescribeModel(const Servable& servable, const std::vector<int64_t>& served_versions) {
  inference::ModelMetadataResponse response;
  response.set_name(servable.name);
  for (int64_t version : served_versions) response.add_versions(std::to_string(version));
  response.set_platform(kPlatform);
  const auto& signature = static_cast<const Signature&>(*servable.call_interface);
  for (const TensorSpec& spec : signature.inputs()) Describe(spec, response.add_inputs());
  for (const TensorSpec& spec : signature.outputs()) Describe(spec, response.add_outputs());
  return response;
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
  inference_stats.mutable_cache_hit();
  inference_stats.mutable_cache_miss();
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
