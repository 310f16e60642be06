// The page of one version of a model: its latency, where the time goes, and the plans that answer its calls.
#pragma once

#include <string>

#include "proto/status.pb.h"

namespace hearth::server {

std::string ModelPage(const v1::ModelStatusResponse& status);

}  // namespace hearth::server
