// What running one of LibTorch's operators does beside computing its results. See OperatorEffects.
#pragma once

#include "jit/operators/operator.h"

namespace hearth {

// Thread-safe.
OperatorEffects EffectsOf(const torch::jit::Operator& op);

}  // namespace hearth
