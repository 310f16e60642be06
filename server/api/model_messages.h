// What the server says about a model: metadata and statistics in the protocol's messages. Pure translation;
// thread-safe.
#pragma once

#include "proto/inference/service.pb.h"
#include "server/api/signature.h"
#include "server/repository/servable.h"

namespace hearth::server {

// Parameters of a described configuration: which inputs and outputs are not the configuration's own but what was
// observed, or assumed because nothing is known. JSON: {"inputs": ["x"], "outputs": ["OUTPUT__0"]}.
inline constexpr const char* kObservedParameter = "hearth.observed";
inline constexpr const char* kAssumedParameter = "hearth.assumed";

// Datatypes and shapes as the configuration has them, else the schema, else calls that were answered (ObservedCalls).
// Of a tensor that nothing is known of, FP32 and [-1] are assumed.
inference::ModelMetadataResponse DescribeModel(const Servable& servable, const std::vector<int64_t>& versions);

// The configuration, with the inputs and outputs that the metadata has where it has none.
inference::ModelConfig DescribeConfig(const Servable& servable);

inference::ModelStatistics DescribeStatistics(const Servable& servable);

}  // namespace hearth::server
