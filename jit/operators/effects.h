// What the schema of one of LibTorch's operators announces. See OperatorEffects.
#pragma once

#include "jit/operators/operator.h"

namespace hearth {

// Thread-safe.
OperatorEffects AnnouncedEffects(const torch::jit::Operator& op);

}  // namespace hearth
