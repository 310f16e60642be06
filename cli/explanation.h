// hearth run --explain and --graphs: what a call ran, the time of each operator, and the plans themselves.
#pragma once

#include <string>

#include "cli/json.h"
#include "jit/runtime.h"

namespace hearth::cli {

std::string ExplanationText(const CallReport& report);
Json ExplanationToJson(const CallReport& report);

// hearth run --graphs: the graph of each plan of the model, with the kernels that it calls.
std::string GraphsText(const Model& model);
Json GraphsToJson(const Model& model);

}  // namespace hearth::cli
