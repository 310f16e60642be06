// The arguments of a call.
#pragma once

#include <functional>

#include "jit/runtime.h"

namespace hearth::server {

struct CallArguments {
  Arguments args;
  KeywordArguments kwargs;
};

// Makes page-locked memory for a tensor among them (Model::NewLockedArgument); undefined: other memory is as good.
using NewLockedTensor = std::function<at::Tensor(c10::IntArrayRef sizes, c10::ScalarType dtype)>;

}  // namespace hearth::server
