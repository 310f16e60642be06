// Functions that TorchScript itself defines in TorchScript, found under an operator's name after the registry's
// overloads and inlined where they are called: scalar ∘ Tensor arithmetic, x.shape, and a few from older releases.
#pragma once

#include <ATen/core/interned_strings.h>

#include <span>

#include "jit/module/function.h"

namespace hearth {

// All of that name, already compiled; empty for almost every name. Alive for the process's life. Thread-safe.
std::span<Function* const> BuiltinFunctions(c10::Symbol name);

// Does now what the first archive would wait for: LibTorch parses the schemas of its operators when one is first looked
// up, and the functions of this file are compiled.
void PrepareBuiltinFunctions();

}  // namespace hearth
