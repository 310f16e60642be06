// The arguments of a call.
#pragma once

#include "jit/runtime.h"

namespace hearth::server {

struct CallArguments {
  Arguments args;
  KeywordArguments kwargs;
};

}  // namespace hearth::server
