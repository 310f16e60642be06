// What the server says about a model: metadata and statistics in the protocol's messages. Pure translation;
// thread-safe.
#pragma once

#include "proto/inference/service.pb.h"
#include "server/api/signature.h"
#include "server/repository/servable.h"

namespace hearth::server {

// An input or output of which neither configuration nor schema tells the datatype (a Tensor without config.pbtxt) has
// an empty datatype; an unknown shape is empty too.
inference::ModelMetadataResponse DescribeModel(const Servable& servable, const std::vector<int64_t>& served_versions);

inference::ModelStatistics DescribeStatistics(const Servable& servable);

}  // namespace hearth::server
