// The run was ended because it asked for more than a run may have: memory, or forks.
#pragma once

#include "jit/support/errors.h"

namespace hearth {

class ResourceError : public ModelError {
 public:
  using ModelError::ModelError;
};

}  // namespace hearth
