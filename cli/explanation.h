// hearth run --explain: what a call ran, and the time of each operator.
#pragma once

#include <string>

#include "cli/json.h"
#include "jit/runtime.h"

namespace hearth::cli {

std::string ExplanationText(const CallReport& report);
Json ExplanationToJson(const CallReport& report);

}  // namespace hearth::cli
