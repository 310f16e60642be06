// Which fused kernels of a plan give wrong results, where the plan answered a call otherwise than the baseline: the
// call is run again in plans that have none of them, or one alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/exact_shape.h"
#include "jit/executor/code_cache.h"
#include "jit/executor/model_plans.h"

namespace hearth {

class Code;

// Of `texts`, the kernels of the plan for the entry, or of the one for `shape` alone; `replay` as
// ShadowRuns::Difference has it. None if the answer differs without any of them, too; all if only several of them
// together make it differ. Throws what compiling and the runs throw.
std::vector<std::string> WrongKernels(
    const ModelPlans& plans, CodeEntry& entry, const std::optional<ExactShape>& shape,
    const std::vector<std::string>& texts,
    const std::function<std::string(const std::shared_ptr<const Code>& code)>& replay);

}  // namespace hearth
