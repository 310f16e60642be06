// The page of the whole server.
#pragma once

#include <string>

#include "proto/status.pb.h"

namespace hearth::server {

std::string OverviewPage(const v1::ServerStatusResponse& status);

}  // namespace hearth::server
