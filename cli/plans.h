// hearth inspect --plans: what a served model is called with, and the plans that its server has compiled for it.
#pragma once

#include "cli/client.h"

namespace hearth::cli {

// Prints to stdout and stderr; gives the process's exit code.
int PrintPlans(const ServerOptions& server, bool graphs, bool json);

}  // namespace hearth::cli
